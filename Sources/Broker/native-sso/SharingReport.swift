import BrokerHTTP
import NativeSSO
import Registry
import StrictCoding

/// Whether one app may use the logins of another, or one login, at each identity provider: every rule, and what it saw.
struct SharingReport: ObjectResult {
    struct Rule: Sendable {
        let row: RefusalRow
        let passes: Bool
        /// What the rule looked at.
        let saw: String

        var line: String { "  \(passes ? "pass" : "FAIL")  \(row.reason): \(saw)" }
    }

    struct Handoff: Sendable {
        /// The first rule that refuses; `nil`: it may.
        let refusal: RefusalRow?
        /// What the rules of hand-offs looked at.
        let saw: String

        var lines: [String] {
            guard let refusal else { return ["  hand-off  yes: \(saw)"] }
            return [
                "  hand-off  no, because \(refusal.cause) (\(refusal.reason)): \(saw)", "    \(refusal.remedy)",
            ]
        }
    }

    struct Answer: Sendable {
        let issuer: Issuer
        let profile: Profile
        let source: ClientID
        /// `nil`: any login.
        let session: UniqueID?
        /// In the order in which the broker asks them.
        let rules: [Rule]
        /// The scope that an exchange would grant.
        let scope: Scope
        /// Whether the source may hand its logins to the target, a web app.
        let handoff: Handoff
        /// What holds beside the rules.
        let notes: [String]

        /// The first rule that refuses; `nil`: the app may.
        var refusal: RefusalRow? { rules.first { !$0.passes }?.row }

        func lines(for target: ClientID) -> [String] {
            let login = session.map { "session \($0) of \(source)" } ?? "logins of \(source)"
            let verdict =
                refusal.map { ["no, because \($0.cause) (\($0.reason))", "  \($0.remedy)"] }
                ?? ["yes, \(target) may use \(login); it gets: \(scope)"]
            return ["\(issuer), \(profile.rawValue): \(verdict[0])"] + verdict.dropFirst() + rules.map(\.line)
                + handoff.lines + notes.map { "  note  \($0)" }
        }
    }

    /// `nil`: each answer names its own.
    let source: ClientID?
    let target: ClientID
    let answers: [Answer]

    /// At one identity provider, under one profile.
    var isYes: Bool { answers.contains { $0.refusal == nil } }

    var lines: [String] { answers.flatMap { $0.lines(for: target) } }

    func members(to json: inout JSONWriter) {
        Cell(source?.string).write(as: "from", to: &json)
        json.member("to", target.string)
        json.member("may_share", isYes)
        json.array("answers", of: answers) { answer, json in
            json.member("issuer", answer.issuer.string)
            json.member("profile", answer.profile.rawValue)
            json.member("from", answer.source.string)
            Cell(answer.session?.description).write(as: "session_id", to: &json)
            json.member("may_share", answer.refusal == nil)
            Cell(answer.refusal?.reason).write(as: "reason", to: &json)
            Cell(answer.refusal?.cause).write(as: "cause", to: &json)
            Cell(answer.refusal?.remedy).write(as: "remedy", to: &json)
            json.member("scope", answer.scope.tokens)
            json.array("rules", of: answer.rules) { rule, json in
                json.member("reason", rule.row.reason)
                json.member("passes", rule.passes)
                json.member("saw", rule.saw)
                Cell(rule.passes ? nil : rule.row.cause).write(as: "cause", to: &json)
                Cell(rule.passes ? nil : rule.row.remedy).write(as: "remedy", to: &json)
            }
            json.member(
                "handoff",
                object: { json in
                    let refusal = answer.handoff.refusal
                    json.member("permitted", refusal == nil)
                    Cell(refusal?.reason).write(as: "reason", to: &json)
                    Cell(refusal?.cause).write(as: "cause", to: &json)
                    Cell(refusal?.remedy).write(as: "remedy", to: &json)
                    json.member("saw", answer.handoff.saw)
                })
            json.member("notes", answer.notes)
            json.member("text", answer.lines(for: target))
        }
    }
}

extension SharingReport {
    /// The first rule that keeps the app from handing its logins off; `nil`: it may. Before the rules of the hand-off,
    /// the endpoint asks of the app what it asks of each client.
    static func refusalOfHandoff(by app: Client, _ sharing: LoginSharing) -> RefusalRow? {
        Registry.clientRules(app).first { !$0.passes }?.row ?? sharing.handoffRefusal?.row
    }

    /// What an answer needs of the registry.
    struct Registry: Sendable {
        let clients: [Client]
        let groups: [SharingGroup]
        let consent: Scope
        let suspensions: [ProviderSuspension]

        func answer(
            _ from: ClientID, _ target: Client, at provider: Configuration.IdentityProvider, _ profile: Profile,
            _ scope: Scope?, _ login: LoginRecord? = nil, idleLimit: Seconds
        ) -> Answer {
            let now = SystemClock().now
            // An app that was removed since its login is in no group.
            let app =
                clients.first { $0.id == from }
                ?? Client(id: from, allowedScope: .empty, defaultScope: .empty, audiences: [])
            let source = groups.membership(of: from, at: provider.issuer)
            let member = groups.membership(of: target.id, at: provider.issuer)
            let sharing = LoginSharing(
                of: (app, source), with: (target, member), at: provider.policy, profile: profile,
                login: login?.state, idleLimit: login == nil ? 1 : idleLimit, scope: scope,
                scopesRequiringConsent: consent, now: now)
            var seen: [(refusals: [ExchangeRefusal], saw: String)] = [
                ([.clientNotInGroup], "\(target.id) is in \(member?.group.string ?? "no group")"),
                ([.sourceNotInGroup], "\(from) is in \(source?.group.string ?? "no group")"),
                ([.otherGroup], "\(source?.group.string ?? "no group") and \(member?.group.string ?? "no group")"),
                (
                    [.directionForbidden],
                    "\(from) is \(source?.role.rawValue ?? "no member"), \(target.id) is \(member?.role.rawValue ?? "no member")"
                ),
                (
                    [.selfExchange],
                    from == target.id
                        ? "one app, which \(target.allowsSelfExchange ? "may" : "may not")" : "two apps"
                ),
            ]
            if let login { seen += sessionRules(login, provider.policy, idleLimit) }
            seen += [
                (
                    [.scopeExceedsClient, .scopeEmpty, .scopeLacksOpenID],
                    "asks for \(scope.map(\.description) ?? "nothing, so its default \(target.defaultScope)"), may have "
                        + "\(target.allowedScope)"
                ),
                (
                    [.scopeExceedsMember],
                    member?.scopeCeiling.map { "the member's ceiling is \($0)" } ?? "the member has no ceiling"
                ),
                (
                    [.consentRequired],
                    consent.tokens.isEmpty ? "no scope needs consent" : "scopes that need consent: \(consent)"
                ),
                ([.assuranceInsufficient], assurance(target, login)),
            ]
            if let login {
                let reuse = login.state.needsLaterLogin ? "was reused after this login" : "was not reused"
                seen.append(([.loginAfterReplay], "a refresh token of \(target.id) \(reuse)"))
            }
            let rules = seen.map { refusals, saw in
                // The one that refuses, or else the first of those that look at the same.
                let found = refusals.first { sharing.refusals.contains($0) }
                return Rule(row: (found ?? refusals[0]).row, passes: found == nil, saw: saw)
            }
            let providerRules = providerRules(provider, profile)
            let handoff = Handoff(
                refusal: providerRules.first { !$0.passes }?.row ?? SharingReport.refusalOfHandoff(by: app, sharing),
                saw: handoffSettings(app, source, target, member))
            return Answer(
                issuer: provider.issuer, profile: profile, source: from, session: login?.state.session.id,
                rules: providerRules + Self.clientRules(target) + rules, scope: sharing.scope, handoff: handoff,
                notes: login.map { notes($0, target) } ?? [])
        }

        private func handoffSettings(
            _ app: Client, _ source: Membership?, _ target: Client, _ member: Membership?
        ) -> String {
            let origins = member?.handoffOrigins.map(\.string) ?? []
            return """
                \(app.id) has handoff \(source?.handoff?.rawValue ?? "none") and DPoP \(app.proofPolicy.rawValue), \
                \(target.id) has authentication \(target.authentication.rawValue) and \
                \(origins.isEmpty ? "no origins" : "the origins \(origins.joined(separator: " "))")
                """
        }

        /// What the endpoint asks of the identity provider before the rules of the grant.
        private func providerRules(_ provider: Configuration.IdentityProvider, _ profile: Profile) -> [Rule] {
            let suspended = suspensions.first { $0.issuer == provider.issuer }
            return [
                Rule(
                    row: RequestRefusal.providerDisabled.row, passes: !provider.isDisabled,
                    saw: provider.isDisabled ? "disabled: true" : "enabled"),
                Rule(
                    row: RequestRefusal.providerSuspended.row, passes: suspended == nil,
                    saw: suspended.map { "suspended since \($0.suspendedAt.rfc3339)" } ?? "not suspended"),
                Rule(
                    row: RequestRefusal.profileNotEnabled.row, passes: provider.policy.profiles.contains(profile),
                    saw: "profiles: \(provider.policy.profiles.map(\.rawValue).sorted().joined(separator: " "))"),
            ]
        }

        /// What the endpoint asks of the client.
        fileprivate static func clientRules(_ target: Client) -> [Rule] {
            [
                Rule(
                    row: ClientRefusal.disabled.row, passes: target.isEnabled,
                    saw: "\(target.id) is \(target.isEnabled ? "enabled" : "disabled")"),
                Rule(
                    row: RequestRefusal.grantNotAllowed.row, passes: target.grants.contains(.tokenExchange),
                    saw: "grants of \(target.id): \(target.grants.map(\.rawValue).sorted().joined(separator: " "))"),
            ]
        }

        private func sessionRules(
            _ login: LoginRecord, _ policy: IssuerPolicy, _ idleLimit: Seconds
        ) -> [(refusals: [ExchangeRefusal], saw: String)] {
            let session = login.state.session
            let limits = [
                session.iatAfter.map { "iat after \($0.rfc3339)" },
                session.authTimeAfter.map { "auth_time after \($0.rfc3339)" },
            ].compactMap(\.self)
            let ended = session.endedAt.map { "ended at \($0.rfc3339) (\(login.endReason ?? "no reason"))" }
            return [
                (
                    [.subjectTokenTooOld],
                    "its first id_token is from \(login.state.issuedAt.rfc3339); at most "
                        + "\(DurationText.format(policy.maximumSubjectTokenAge))"
                ),
                ([.sessionEnded], ended ?? "not ended"),
                ([.sessionExpired], "expires at \(session.expiresAt.rfc3339)"),
                (
                    [.sessionIdle],
                    "last used at \(session.lastUsedAt.rfc3339); at most \(DurationText.format(idleLimit)) ago"
                ),
                (
                    [.subjectTokenBeforeEnd, .subjectMismatch],
                    limits.isEmpty
                        ? "any id_token of it counts" : "its id_tokens count with \(limits.joined(separator: " and "))"
                ),
                (
                    [.accountDisabled],
                    login.accountDisabledAt.map { "\(login.provider) disabled the account at \($0.rfc3339)" }
                        ?? "the account is not disabled"
                ),
                (
                    [.deviceBlocked],
                    login.deviceBlockedAt.map { "blocked at \($0.rfc3339)" } ?? "the device is not blocked"
                ),
            ]
        }

        private func assurance(_ target: Client, _ login: LoginRecord?) -> String {
            var wanted: [String] = []
            if !target.acceptedContextClasses.isEmpty {
                wanted.append("acr \(target.acceptedContextClasses.joined(separator: " or "))")
            }
            if let age = target.maximumAuthenticationAge {
                wanted.append("a login of at most \(DurationText.format(age)) ago")
            }
            let wants = "\(target.id) wants \(wanted.isEmpty ? "any login" : wanted.joined(separator: " and "))"
            guard let login else { return wants }
            let time = login.state.login.authenticatedAt?.rfc3339 ?? "unknown"
            return "\(wants); the login has acr \(login.state.login.contextClass ?? "none") and auth_time \(time)"
        }

        private func notes(_ login: LoginRecord, _ target: Client) -> [String] {
            var notes: [String] = []
            if let key = login.boundKey { notes.append("on this device \(target.id) must show the key \(key)") }
            if let grant = login.grant {
                let end =
                    login.grantRevokedAt.map { "revoked at \($0.rfc3339) (\(login.grantRevokeReason ?? "no reason"))" }
                    ?? login.grantEndsAt.map { "good until \($0.rfc3339)" } ?? "live"
                notes.append("\(target.id) has the grant \(grant) there: \(end)")
            } else {
                notes.append("\(target.id) has no grant there yet")
            }
            return notes
        }
    }
}

extension SharingReport.Registry {
    init(_ administration: Administration) async throws {
        clients = try await administration.clients()
        groups = try await administration.groups()
        consent = Scope(try await administration.scopes().filter(\.requiresConsent).map(\.name))
        suspensions = try await administration.suspendedProviders()
    }
}

extension [SharingGroup] {
    fileprivate func membership(of client: ClientID, at issuer: Issuer) -> Membership? {
        for group in self where group.issuer == issuer {
            guard let member = group.members.first(where: { $0.client == client }) else { continue }
            return member.membership(in: group.id)
        }
        return nil
    }
}

extension SharingGroup.Member {
    func membership(in group: GroupID) -> Membership {
        Membership(
            group: group, role: role, scopeCeiling: scopeCeiling, handoff: handoff, handoffOrigins: handoffOrigins)
    }
}
