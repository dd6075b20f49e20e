import ArgumentParser
import BrokerHTTP
import NativeSSO
import Registry

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a request, a refusal reason, or whether an app may use a login.",
        discussion: """
            Every answer of the broker has an X-Request-Id, and every administrative change prints one. Apps learn less about \
            a refusal than this command prints. Do not pass its output on to them.

            --to with --from shows every rule between two apps, and what it saw. It also shows whether the first app may hand \
            its logins to the second one, a web app. --to with --sid or --sub asks the same of a \
            login as it is now: its session, its device, its user.
            """)

    @Argument(help: "The X-Request-Id of an answer.") var requestID: UniqueID?

    @Option(
        help:
            "The source client: the app that logged in. With --sid or --sub by default the one that the session names.")
    var from: ClientID?

    @Option(help: "The target client: the app that would use the login.")
    var to: ClientID?

    @Option(parsing: .unconditional, help: "With --to: the login of this name: see `session show`.")
    var sid: SessionID?

    @Option(
        parsing: .unconditional, help: "With --to: the last ten logins of this user, by `sub` of the identity provider."
    )
    var sub: Subject?

    @Option(help: "With --to: only this identity provider. By default all; with --sid or --sub the only one.")
    var issuer: Issuer?

    @Option(help: "With --to: only this profile. By default all that are configured.")
    var profile: Profile?

    @Option(
        help: ArgumentHelp(
            "With --to: this scope. By default the client's default scope.", valueName: "\"scope …\""))
    var scope: Scope?

    @Option(help: "A refusal reason from the log, the audit or the metrics.")
    var reason: String?

    @OptionGroup var page: LimitOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard [requestID != nil, to != nil, reason != nil].count(where: { $0 }) == 1, to != nil || from == nil,
            to != nil || sid == nil && sub == nil
        else { throw ValidationError("Give a request id, or --to with --from, --sid or --sub, or --reason.") }
        if to != nil {
            guard sid == nil || sub == nil, from != nil || sid != nil || sub != nil else {
                throw ValidationError("--to needs --from, or one of --sid and --sub.")
            }
        } else if issuer != nil || profile != nil || scope != nil {
            throw ValidationError("--issuer, --profile and --scope go with --to.")
        }
    }

    func run() async throws {
        if let requestID {
            try await explain(requestID)
        } else if let to {
            try await explain(to)
        } else if let reason {
            try explain(reason)
        }
    }

    private func explain(_ requestID: UniqueID) async throws {
        let records = try await options.administer {
            try await $0.audit(ofRequest: requestID, limit: page.limit)
        }
        guard !records.isEmpty else {
            throw CommandFailure.notFound(Self.nothingRecorded)
        }
        try options.output.show(RequestReport(requestID: requestID, records: records))
        if records.count == Int(page.limit) {
            options.output.warn(["There may be more events than --limit \(page.limit)."])
        }
    }

    static let nothingRecorded = """
        nothing is recorded under this request id. The audit has no event for a granted refresh, an answer of status 5xx, \
        or a request to another endpoint than the token endpoint: the broker's log has every request, by request_id. \
        Of a flood of refusals the audit keeps a sample, for as long as `retention show` says
        """

    private func explain(_ to: ClientID) async throws {
        let (configured, idle) = try options.read(openingFiles: false) {
            let sessions = $0.sessions()
            return ($0.identityProviders(sessions), sessions.idle)
        }
        if let issuer, !configured.contains(where: { $0.issuer == issuer }) {
            throw CommandFailure.notFound("the identity provider \(issuer) is not configured")
        }
        var selection: SessionSelection?
        if sid != nil || sub != nil {
            let issuer = try issuer ?? IssuerOption.only(of: configured.map(\.issuer))
            if let sid { selection = .session(issuer, sid) } else if let sub { selection = .subject(issuer, sub) }
        }
        let (registry, target, logins) = try await options.administer { administration in
            let registry = try await SharingReport.Registry(administration)
            let target = try registry.clients.require(to)
            if let from { try registry.clients.require(from) }
            guard let selection else { return (registry, target, [LoginRecord]?.none) }
            let found = try await administration.sessions(selection, liveOnly: false, limit: 10)
            guard !found.isEmpty else { throw CommandFailure.notFound("no session has this name or user") }
            return (registry, target, try await administration.logins(found.map(\.id), by: to))
        }
        var answers: [SharingReport.Answer] = []
        for provider in configured {
            let profiles = Profile.allCases.filter {
                profile.map { [$0] }?.contains($0) ?? provider.policy.profiles.contains($0)
            }
            guard let logins else {
                guard issuer == nil || provider.issuer == issuer, let from else { continue }
                answers += profiles.map { registry.answer(from, target, at: provider, $0, scope, idleLimit: idle) }
                continue
            }
            for login in logins where login.issuer == provider.issuer {
                guard let from = from ?? login.sourceClient else {
                    throw CommandFailure.usage("the session names no app that logged in: give --from")
                }
                // A login goes on with the profile by which it came, unless it was registered.
                let profiles = profile == nil ? login.profile.map { [$0] } ?? profiles : profiles
                answers += profiles.map {
                    registry.answer(from, target, at: provider, $0, scope, login, idleLimit: idle)
                }
            }
        }
        guard !answers.isEmpty else {
            throw CommandFailure.notFound("the login is one of an identity provider that is not configured")
        }
        let report = SharingReport(source: from, target: to, answers: answers)
        try options.output.show(report)
        guard report.isYes else {
            throw CommandFailure.refused(
                logins == nil ? "\(to) may not use logins of \(from?.string ?? "?")" : "\(to) may not use this login")
        }
    }

    private func explain(_ reason: String) throws {
        let known: (cause: String, remedy: String)
        if let row = RefusalRow.of(reason, in: nil) {
            known = (row.cause, row.remedy)
        } else if let outcome = RevocationOutcome(rawValue: reason) {
            known = outcome.explanation
        } else {
            throw CommandFailure.notFound("no refusal has this reason")
        }
        let record: Record = [
            "reason": .text(reason), "cause": .text(known.cause), "remedy": .text(known.remedy),
        ]
        try options.output.show(record)
    }
}
