import ArgumentParser
import NativeSSO
import Registry

/// `native-sso grant`
struct GrantCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "What apps hold: one refresh chain for each app in a login.",
        subcommands: [GrantListCommand.self, GrantRevokeCommand.self])
}

/// `native-sso grant list`
struct GrantListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Grants, the newest first.")

    @Option(help: "The identity provider; may be left out where the configuration has only one.")
    var issuer: Issuer?

    @Option(parsing: .unconditional, help: "Of the session with this `sid`.")
    var sid: SessionID?

    @Option(parsing: .unconditional, help: "Of all sessions of this user.")
    var sub: Subject?

    @Option(help: "Of this client.")
    var client: ClientID?

    @Flag(help: "Also those that are over.")
    var ended = false

    @Option(help: "At most so many.")
    var limit: Int64 = 100

    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard [sid != nil, sub != nil, client != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Say which grants: --sid, --sub or --client.")
        }
        guard issuer == nil || client == nil else { throw ValidationError("--issuer needs --sid or --sub.") }
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is from 1 to 100000.") }
    }

    func run() async throws {
        let selection = try selection()
        let grants = try await options.administer { registry throws(AdministrationError) in
            try await registry.grants(selection, liveOnly: !ended, limit: limit)
        }
        try options.output.show(Table(grants))
        if grants.count == limit { options.output.warn(["There may be more than --limit \(limit) grants."]) }
    }

    private func selection() throws(CommandFailure) -> GrantSelection {
        if let client { return .client(client) }
        let issuer = try options.configuration().issuer(issuer)
        if let sid { return .session(issuer, sid) }
        guard let sub else { throw .usage("Say which grants: --sid, --sub or --client.") }
        return .subject(issuer, sub)
    }
}

/// `native-sso grant revoke`
struct GrantRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke a grant: its refresh token is refused from the next call on.",
        discussion: "While the session lives the app may exchange again: end the session, or disable the client.")

    @Argument(help: "The grant, as `grant list` has it.") var grant: UniqueID?

    @Option(help: "Every grant of this client.")
    var client: ClientID?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    /// How many are revoked in one transaction.
    private static let batch: Int64 = 1000

    mutating func validate() throws {
        guard (grant == nil) != (client == nil) else { throw ValidationError("Give a grant, or --client.") }
    }

    func run() async throws {
        guard let selection = grant.map(GrantSelection.grant) ?? client.map(GrantSelection.client) else { return }
        let live = try await options.administer { registry throws(AdministrationError) in
            try await registry.grants(selection, liveOnly: true, limit: Self.batch)
        }
        guard !live.isEmpty else { throw CommandFailure.notFound("no such grant is live") }
        try await execution.carryOut(plan(live), options) { act throws(CommandFailure) in
            try await revoke(selection, act)
        }
    }

    private func plan(_ live: [GrantListing]) -> Plan {
        let found = live.map { listing in
            "\(listing.grant.id) of \(listing.grant.client) in \(listing.issuer) sid \(listing.sessionID)"
        }
        return Plan("revoke", "grant", found, isMore: live.count == Self.batch)
    }

    /// Batch by batch: what was revoked before a failure stays revoked.
    private func revoke(_ selection: GrantSelection, _ act: AdministrativeAct) async throws(CommandFailure) {
        try await options.administer { registry throws(AdministrationError) in
            var last: UniqueID?
            while true {
                let live = try await registry.grants(selection, liveOnly: true, limit: Self.batch, before: last)
                _ = try await registry.revoke(live.map(\.grant.id), act)
                guard live.count == Self.batch else { return }
                last = live.last?.grant.id
            }
        }
    }
}

extension Table {
    fileprivate init(_ grants: [GrantListing]) {
        self.init(
            "grants",
            columns: [
                "grant_id", "client_id", "issuer", "sid", "sub", "scope", "rotated_at", "expires_at", "revoked_at",
                "revoke_reason",
            ])
        for listing in grants {
            let grant = listing.grant
            append([
                .text(grant.id.description), .text(grant.client.string), .text(listing.issuer.string),
                .text(listing.sessionID.string), Cell(listing.subject?.string), .list(grant.scope.tokens),
                .instant(grant.rotatedAt), .instant(grant.expiresAt), Cell(grant.revokedAt), Cell(grant.revokeReason),
            ])
        }
    }
}
