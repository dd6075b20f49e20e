import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct SessionCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Show, register and end sessions: logins and what was issued from them.",
        subcommands: [
            SessionListCommand.self, SessionShowCommand.self, SessionRegisterCommand.self, SessionEndCommand.self,
        ])
}

struct SessionSelectionOptions: ParsableArguments {
    @OptionGroup var provider: IssuerOption

    static let sidHelp: ArgumentHelp = """
        The session's name: `sid` of the identity provider or of the apps' id_tokens, or `session_id` of an access token.
        """

    // A random base64url text may begin with a hyphen.
    @Option(parsing: .unconditional, help: SessionSelectionOptions.sidHelp)
    var sid: SessionID?

    @Option(parsing: .unconditional, help: "All sessions of this user: `sub` as the identity provider writes it.")
    var sub: Subject?

    @Option(help: "All sessions that began on this device, by the digest that `session show` shows.")
    var device: DeviceDigest?

    @Option(help: "All sessions for which this client logged the user in.")
    var client: ClientID?

    @Option(help: "All sessions whose users logged in at this identity provider.")
    var idp: Issuer?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            """
            All sessions that began, or in which an app got its grant, from the first time on and before the second: \
            2026-11-22T07:30:00Z, or 2h for two hours ago. Goes with --idp.
            """, valueName: "when"))
    var issuedBetween: [Moment] = []

    private var selectsByIssue: Bool { idp != nil || !issuedBetween.isEmpty }

    /// The number of given options that select sessions.
    var count: Int { [sid != nil, sub != nil, device != nil, client != nil, selectsByIssue].count { $0 } }

    mutating func validate() throws {
        guard count <= 1 else {
            throw ValidationError("Give one of --sid, --sub, --device and --client, or --idp and --issued-between.")
        }
        guard issuedBetween.isEmpty || issuedBetween.count == 2 else {
            throw ValidationError("--issued-between takes two times: the first, and the one after the last.")
        }
        guard provider.issuer == nil || sid != nil || sub != nil else {
            throw ValidationError("--issuer needs --sid or --sub.")
        }
    }

    /// `nil` if no option selects sessions.
    func selection(_ options: GlobalOptions) throws -> SessionSelection? {
        if let sid { return .session(try provider.issuer(options), sid) }
        if let sub { return .subject(try provider.issuer(options), sub) }
        if selectsByIssue {
            let now = SystemClock().now
            let times = issuedBetween.map { $0.instant(now) }
            guard times.isEmpty || times[0] < times[1] else {
                throw CommandFailure.usage("--issued-between: the first time is not before the second")
            }
            return .issued(by: idp, between: times.isEmpty ? nil : (times[0], times[1]))
        }
        return device.map(SessionSelection.device) ?? client.map(SessionSelection.client)
    }
}

struct SessionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List sessions, the newest first.")

    @OptionGroup var which: SessionSelectionOptions

    @Flag(help: "Include ended and expired ones.")
    var ended = false

    @OptionGroup var page: PageOptions<UniqueID>
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let selection = try which.selection(options) ?? .all
        let sessions = try await options.administer {
            try await $0.sessions(selection, liveOnly: !ended, limit: page.limit, before: page.after)
        }
        let table = Table("sessions", sessions) {
            [
                "session_id": .text($0.id.description), "issuer": .text($0.issuer.string),
                "sub": Cell($0.subject?.string),
                "source_client": Cell($0.sourceClient?.string), "created_at": .instant($0.createdAt),
                "last_used_at": .instant($0.lastUsedAt), "expires_at": .instant($0.expiresAt),
                "ended_at": Cell($0.endedAt), "live_grants": .number($0.liveGrants),
            ]
        }
        try options.output.show(page.page(sessions, position: \.id, table))
    }
}

struct SessionShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one session with the grants of each app.",
        discussion: """
            A `sid` may return after its session ended. Then the command shows the live session, else the newest, and says so. \
            `session list --sid SID --ended` lists all of them.
            """)

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: SessionSelectionOptions.sidHelp)
    var sid: SessionID

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let selection = SessionSelection.session(try provider.issuer(options), sid)
        let (report, isOneOfSeveral) = try await options.administer { registry in
            let newest = try await registry.sessions(selection, liveOnly: false, limit: 2)
            // An ended session of the name may have a later id than the live one.
            let live = try await registry.sessions(selection, liveOnly: true, limit: 1)
            guard let session = live.first ?? newest.first else { throw AdministrationError.notFound("this session") }
            let grants = try await registry.grants(.sessionRow(session.id), liveOnly: false, limit: nil)
            return (SessionReport(session: session, grants: grants.reversed()), newest.count > 1)
        }
        try options.output.show(report)
        if isOneOfSeveral {
            options.output.warn([
                "Several sessions had this sid. This is the live one, else the newest; session list --ended lists all."
            ])
        }
    }
}

/// One session and the grants in it.
private struct SessionReport: ObjectResult {
    let session: Record
    let grants: Table

    init(session: SessionRecord, grants: [GrantRecord]) {
        self.session = [
            "session_id": .text(session.id.description), "issuer": .text(session.issuer.string),
            "sid_sha256": .text(session.sidDigest), "sub": Cell(session.subject?.string),
            "profile": Cell(session.profile?.rawValue),
            "device": Cell(session.device.map { Hexadecimal.encode($0.octets) }),
            "source_client": Cell(session.sourceClient?.string), "created_at": .instant(session.createdAt),
            "expires_at": .instant(session.expiresAt), "last_used_at": .instant(session.lastUsedAt),
            "ended_at": Cell(session.endedAt), "end_reason": Cell(session.endReason),
            "live_grants": .number(session.liveGrants),
        ]
        self.grants = Table("grants", grants) {
            [
                "grant_id": .text($0.id.description), "client_id": .text($0.client.string),
                "generation": .number(Int64($0.generation)), "rotated_at": Cell($0.rotatedAt),
                "unanswered": .flag($0.isUnanswered),
                "scope": .list($0.scope.tokens), "created_at": .instant($0.createdAt),
                "expires_at": .instant($0.expiresAt), "revoked_at": Cell($0.revokedAt),
                "revoke_reason": Cell($0.revokeReason),
            ]
        }
    }

    var lines: [String] { session.lines + [""] + grants.lines }

    func members(to json: inout JSONWriter) {
        json.member("session", object: session.members)
        grants.members(to: &json)
    }
}

struct SessionRegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Register a login before an app presents it.",
        discussion: """
            Safe to repeat. If the identity provider ended the login before, it stays ended: exit status 1. For an existing \
            session, --idp-issuer and --idp-sid are recorded once.
            """)

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "The session's `sid`, as in the apps' id_tokens.")
    var sid: SessionID

    @Option(parsing: .unconditional, help: "The user: `sub` as the identity provider writes it.")
    var sub: Subject

    @Option(help: "The client that logs the user in.")
    var client: ClientID?

    @Option(help: "When the user logged in, in seconds since 1970, as in the id_token.")
    var authTime: Int64?

    @Option(help: "`acr` of the id_token.")
    var acr: String?

    @Option(parsing: .upToNextOption, help: "`amr` of the id_token.")
    var amr: [String] = []

    @Option(help: "The session's lifetime. By default `sessions.absolute` of the configuration.")
    var lifetime: Seconds?

    @Option(help: "The issuer of its logout tokens, if it differs.")
    var idpIssuer: Issuer?

    @Option(parsing: .unconditional, help: "The `sid` in its logout tokens, if it differs.")
    var idpSID: SessionID?

    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        if let authTime, authTime < 0 { throw ValidationError("--auth-time is from 1970 on.") }
        if let lifetime, lifetime > .days(400) { throw ValidationError("--lifetime is 400d at most.") }
    }

    func run() async throws {
        let session = SessionRegistration(
            issuer: try provider.issuer(options), sessionID: sid, subject: sub, sourceClient: client,
            login: Login(
                authenticatedAt: authTime.map(UnixTime.init(seconds:)), contextClass: acr, methods: amr),
            lifetime: try lifetime ?? options.read { $0.sessions() }.absolute, providerIssuer: idpIssuer,
            providerSessionID: idpSID)
        let answer = try await options.administer { try await $0.register(session, options.act(why)) }
        switch answer.outcome {
        case .registered, .known, .mapped:
            let record: Record = [
                "outcome": .text(answer.outcome.rawValue), "session_id": .text(answer.id.description),
            ]
            try options.output.show(record)
        case .ended: throw CommandFailure.refused("the session is over, and stays over")
        case .taken: throw CommandFailure.refused("the sid is that of another user's session")
        case .mappedOtherwise:
            throw CommandFailure.refused("the session is known by another issuer or sid to its provider's logout")
        }
    }
}

struct SessionEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "End sessions. The broker refuses every app in them from its next request on.",
        discussion: """
            Many sessions end in batches of 1,000, each of which is committed. If the command is interrupted, type it again \
            with --resume and the id that it printed: it goes on where it stopped, and spares users who have logged in since. \
            --all ends them at once.
            """)

    @OptionGroup var which: SessionSelectionOptions

    @Flag(help: "Every session of every user, and every id_token issued until now, known to the database or not.")
    var all = false

    @Flag(
        help: """
            Let a new id_token of the same login begin a new session. Without this flag the user must log in again at the \
            identity provider. For clean-ups, such as after the promotion of a standby.
            """)
    var sameLoginMayReturn = false

    @Option(help: ArgumentHelp("Go on with an interrupted command, by the id that it printed.", valueName: "id"))
    var resume: UniqueID?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    /// The number of sessions in one transaction.
    private static let batch: Int64 = 1000

    mutating func validate() throws {
        guard all == (which.count == 0) else {
            throw ValidationError(
                "Say which sessions: --sid, --sub, --device, --client, --idp, --issued-between or --all.")
        }
        guard !all || resume == nil else { throw ValidationError("--all ends at once, and nothing is left to resume.") }
        if let resume {
            let now = SystemClock().now
            guard let begun = resume.instant, begun <= now, now.since(begun) <= .days(30) else {
                throw ValidationError("--resume takes the id that an interrupted `session end` printed.")
            }
        }
    }

    func run() async throws {
        let selection = try which.selection(options) ?? .all
        let begun = resume?.instant
        // It counts a million sessions in seconds.
        let (impact, live) = try await options.administer(patience: .seconds(120)) { registry in
            (
                try await registry.impact(ofEnding: selection, beganUntil: begun),
                try await registry.sessions(selection, liveOnly: true, beganUntil: begun, limit: 20)
            )
        }
        if all {
            return try await execution.carryOut(plan(impact, live), options) {
                try await $0.endEverything(sameLoginMayReturn: sameLoginMayReturn, $1)
            }
        }
        guard impact.sessions > 0 else {
            throw CommandFailure.notFound(resume == nil ? "no such session is live" : "nothing is left to end")
        }
        // If a batch fails, the sessions of earlier batches stay ended.
        try await execution.carryOut(plan(impact, live), options, as: resume) { registry, act in
            if impact.sessions > Self.batch {
                options.output.warn(["If this is interrupted, type it again with --resume \(act.requestID)."])
            }
            var last: UniqueID?
            while true {
                let live = try await registry.sessions(
                    selection, liveOnly: true, beganUntil: begun, limit: Self.batch, before: last)
                _ = try await registry.end(
                    live.map(\.id), reason: "operator", sameLoginMayReturn: sameLoginMayReturn, act)
                Progress.add(live.count)
                guard live.count == Self.batch else { return }
                last = live.last?.id
            }
        }
    }

    private func plan(_ impact: SessionImpact, _ live: [SessionRecord]) -> Plan {
        let users = impact.users.counted("user")
        let tokens = "\(impact.grants.counted("grant")) of apps \(impact.grants == 1 ? "ends" : "end")"
        let first =
            sameLoginMayReturn
            ? "\(users): no login page, a later id_token of the same login is enough; \(tokens)"
            : "sends \(users) to a login page; \(tokens)"
        let named = live.map { session in
            "\(session.id) at \(session.issuer) of \(session.subject?.string ?? "an unknown user"), "
                + session.liveGrants.counted("live grant")
        }
        let rest = impact.sessions - Int64(named.count)
        return Plan(
            "end \(impact.sessions.counted("session"))",
            consequences: [first] + named + (rest > 0 ? ["… and \(rest.counted("other"))"] : []))
    }
}

extension UniqueID {
    /// When an id of version 7 was made, RFC 9562 §5.7; `nil` for another version.
    fileprivate var instant: UnixTime? {
        high >> 12 & 0xF == 7 ? UnixTime(seconds: Int64(high >> 16) / 1000) : nil
    }
}
