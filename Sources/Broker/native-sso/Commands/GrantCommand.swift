import ArgumentParser
import NativeSSO
import Registry

struct GrantCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "Show and revoke grants: one token family for each app in a session.",
        subcommands: [GrantListCommand.self, GrantRevokeCommand.self])
}

struct GrantListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List grants, the newest first.")

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "Grants in the session of this name: see `session list`.")
    var sid: SessionID?

    @Option(
        parsing: .unconditional, help: "Grants in all sessions of this user: `sub` as the identity provider writes it.")
    var sub: Subject?

    @Option(help: "Grants of this client.")
    var client: ClientID?

    @Flag(help: "Include revoked and expired ones.")
    var ended = false

    @OptionGroup var page: PageOptions<UniqueID>
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard [sid != nil, sub != nil, client != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Say which grants: --sid, --sub or --client.")
        }
        guard provider.issuer == nil || client == nil else { throw ValidationError("--issuer needs --sid or --sub.") }
    }

    func run() async throws {
        let selection = try selection()
        let grants = try await options.administer {
            try await $0.grants(selection, liveOnly: !ended, limit: page.limit, before: page.after)
        }
        try options.output.show(page.page(grants, position: \.id, Table("grants", grants, row: Record.init)))
    }

    private func selection() throws -> GrantSelection {
        if let client { return .client(client) }
        let issuer = try provider.issuer(options)
        if let sid { return .session(issuer, sid) }
        guard let sub else { throw CommandFailure.usage("Say which grants: --sid, --sub or --client.") }
        return .subject(issuer, sub)
    }
}

struct GrantRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a grant. The broker refuses its refresh token from the next request on.",
        discussion:
            "While the session lives, the app may exchange again. To stop that, end the session or disable the client.")

    @Argument(help: "The grant's id, as `grant list` shows it.") var grant: UniqueID?

    @Option(help: "Every grant of this client.")
    var client: ClientID?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    /// The number of grants in one transaction.
    private static let batch: Int64 = 1000

    mutating func validate() throws {
        guard (grant == nil) != (client == nil) else { throw ValidationError("Give a grant, or --client.") }
    }

    func run() async throws {
        guard let selection = grant.map(GrantSelection.grant) ?? client.map(GrantSelection.client) else { return }
        let live = try await options.administer {
            try await $0.grants(selection, liveOnly: true, limit: Self.batch)
        }
        guard !live.isEmpty else { throw CommandFailure.notFound("no such grant is live") }
        let found = live.map { grant in
            "\(grant.id) of \(grant.client) in session \(grant.session) at \(grant.issuer)"
        }
        let plan = Plan("revoke", "grant", found, isMore: live.count == Self.batch)
        // If a batch fails, the grants of earlier batches stay revoked.
        try await execution.carryOut(plan, options) { registry, act in
            var last: UniqueID?
            while true {
                let live = try await registry.grants(selection, liveOnly: true, limit: Self.batch, before: last)
                _ = try await registry.revoke(live.map(\.id), act)
                Progress.add(live.count)
                guard live.count == Self.batch else { return }
                last = live.last?.id
            }
        }
    }
}

extension Record {
    fileprivate init(_ grant: GrantRecord) {
        self = [
            "grant_id": .text(grant.id.description), "client_id": .text(grant.client.string),
            "session_id": .text(grant.session.description), "issuer": .text(grant.issuer.string),
            "sub": Cell(grant.subject?.string), "scope": .list(grant.scope.tokens),
            "rotated_at": Cell(grant.rotatedAt), "unanswered": .flag(grant.isUnanswered),
            "expires_at": .instant(grant.expiresAt),
            "revoked_at": Cell(grant.revokedAt), "revoke_reason": Cell(grant.revokeReason),
        ]
    }
}
