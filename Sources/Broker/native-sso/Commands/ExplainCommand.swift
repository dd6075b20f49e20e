import ArgumentParser
import BrokerHTTP
import NativeSSO
import Registry

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a request, a refusal reason, or whether two apps may share logins.",
        discussion: """
            Every answer of the broker has an X-Request-Id, and every administrative change prints one. Apps learn less about \
            a refusal than this command prints. Do not pass its output on to them.
            """)

    @Argument(help: "The X-Request-Id of an answer.") var requestID: UniqueID?

    @Option(help: "The source client: the app that logged in.")
    var from: ClientID?

    @Option(help: "The target client: the app that would use the login.")
    var to: ClientID?

    @Option(help: "With --from and --to: only this identity provider. By default all.")
    var issuer: Issuer?

    @Option(help: "With --from and --to: only this profile. By default all that are configured.")
    var profile: Profile?

    @Option(
        help: ArgumentHelp(
            "With --from and --to: this scope. By default the client's default scope.", valueName: "\"scope …\""))
    var scope: Scope?

    @Option(help: "A refusal reason from the log, the audit or the metrics.")
    var reason: String?

    @OptionGroup var page: LimitOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard [requestID != nil, from != nil || to != nil, reason != nil].count(where: { $0 }) == 1,
            (from == nil) == (to == nil)
        else { throw ValidationError("Give a request id, or --from and --to, or --reason.") }
        guard from != nil || issuer == nil && profile == nil && scope == nil else {
            throw ValidationError("--issuer, --profile and --scope go with --from and --to.")
        }
    }

    func run() async throws {
        if let requestID {
            try await explain(requestID)
        } else if let from, let to {
            try await explain(from, to)
        } else if let reason {
            try explain(reason)
        }
    }

    private func explain(_ requestID: UniqueID) async throws {
        let records = try await options.administer {
            try await $0.audit(ofRequest: requestID, limit: page.limit)
        }
        guard !records.isEmpty else {
            throw CommandFailure.notFound(
                "nothing is recorded under this request id. No event has a refresh that was granted, an answer of status 5xx, "
                    + "or what was no request to the token endpoint: the log of the broker has every request, by request_id. "
                    + "Of a flood of refusals the audit keeps a sample, for as long as `retention show` says")
        }
        try options.output.show(RequestReport(requestID: requestID, records: records))
        if records.count == Int(page.limit) {
            options.output.warn(["There may be more events than --limit \(page.limit)."])
        }
    }

    private func explain(_ from: ClientID, _ to: ClientID) async throws {
        let configured = try options.read(openingFiles: false) { $0.identityProviders($0.sessions()) }
        if let issuer, !configured.contains(where: { $0.issuer == issuer }) {
            throw CommandFailure.notFound("the identity provider \(issuer) is not configured")
        }
        let (clients, groups, scopes) = try await options.administer { registry in
            (try await registry.clients(), try await registry.groups(), try await registry.scopes())
        }
        guard clients.contains(where: { $0.id == from }) else {
            throw CommandFailure.notFound("client \(from) does not exist")
        }
        guard let target = clients.first(where: { $0.id == to }) else {
            throw CommandFailure.notFound("client \(to) does not exist")
        }
        let consent = Scope(scopes.filter(\.requiresConsent).map(\.name))
        let report = SharingReport(
            source: from, target: to,
            answers: configured.filter { issuer == nil || $0.issuer == issuer }.flatMap { provider in
                Profile.allCases.filter { profile.map { [$0] }?.contains($0) ?? provider.policy.profiles.contains($0) }
                    .map { profile in
                        answer(from, target, provider, profile, groups, consent)
                    }
            })
        try options.output.show(report)
        guard report.isYes else { throw CommandFailure.refused("\(to) may not use logins of \(from)") }
    }

    private func answer(
        _ from: ClientID, _ target: Client, _ provider: Configuration.IdentityProvider, _ profile: Profile,
        _ groups: [SharingGroup], _ consent: Scope
    ) -> SharingReport.Answer {
        let sharing = LoginSharing(
            of: (from, groups.membership(of: from, at: provider.issuer)),
            with: (target, groups.membership(of: target.id, at: provider.issuer)), at: provider.policy,
            profile: profile, scope: scope, scopesRequiringConsent: consent, now: SystemClock().now)
        // The rules that the endpoint checks before those of the grant.
        let early: RefusalRow? =
            if provider.isDisabled {
                RequestRefusal.audienceUnknown.row
            } else if !provider.policy.profiles.contains(profile) {
                RequestRefusal.profileNotEnabled.row
            } else if !target.isEnabled {
                ClientRefusal.disabled.row
            } else if !target.grants.contains(.tokenExchange) {
                RequestRefusal.grantNotAllowed.row
            } else {
                nil
            }
        return SharingReport.Answer(
            issuer: provider.issuer, profile: profile, refusal: early ?? sharing.refusal?.row, scope: sharing.scope)
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

extension [SharingGroup] {
    fileprivate func membership(of client: ClientID, at issuer: Issuer) -> Membership? {
        for group in self where group.issuer == issuer {
            guard let member = group.members.first(where: { $0.client == client }) else { continue }
            return Membership(group: group.id, role: member.role, scopeCeiling: member.scopeCeiling)
        }
        return nil
    }
}
