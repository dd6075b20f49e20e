import BrokerTesting
package import NativeSSO
import Testing

/// An app hands a login to a web app: all that it depends on, at first such that it succeeds. A test changes the one thing
/// that it is about.
package struct HandoffScenario: StoredScenario {
    /// App 2 of it asks for the code. The scope is the one that it asks for.
    package var exchange: ExchangeScenario
    package var web: Client
    package var webIsEnabled = true
    package var webMember: Membership?
    package var origin = WebOrigin(validated: "https://web.example.com")
    package var verifier = String(repeating: "v", count: 43)
    package let code: HandoffDigest

    package init(profile: Profile = .deviceSecret) throws {
        exchange = try ExchangeScenario(profile: profile)
        exchange.targetMember = Membership(group: exchange.group, role: .target, handoff: .bearer)
        let scope = ExchangeScenario.scope
        web = Client(
            id: ClientID(validated: "web-\(exchange.group)"), authentication: .clientSecretBasic, allowedScope: scope,
            defaultScope: scope, audiences: ["https://api.example.com"])
        webMember = Membership(group: exchange.group, role: .target, handoffOrigins: [origin])
        code = HandoffDigest(octets: (0..<32).map { _ in .random(in: .min ... .max) })
    }

    package func put(into fixture: any RowStore) async throws {
        try await exchange.put(into: fixture)
        try await putWebApp(into: fixture)
    }

    package func putWebApp(into fixture: any RowStore) async throws {
        try await fixture.put(client: web.id, isEnabled: webIsEnabled)
        if let webMember {
            try await fixture.put(MemberRow(issuer: exchange.issuer, client: web.id, membership: webMember))
        } else {
            try await fixture.removeMember(web.id, at: exchange.issuer)
        }
    }

    package var challenge: HandoffChallenge {
        get throws { try #require(HandoffChallenge(of: verifier)) }
    }

    package var entry: HandoffEntry {
        get throws {
            let claims = exchange.claims
            var app = exchange
            app.client.allowsSelfExchange = true
            let fits = app.request.fitsDevice(of: claims, hash: try #require(app.deviceHash))
            return HandoffEntry(
                app: Admission(
                    app.request, claims, sid: app.sessionID.digest,
                    app.checks(of: app.request, claims, fitsDevice: fits, needsScope: false), device: try app.digest(),
                    milliseconds: app.now.seconds &* 1000),
                web: try admission(of: claims, scope: exchange.scope, fitsDevice: fits), code: code,
                challenge: try challenge, origin: origin)
        }
    }

    /// The redemption of what the registry keeps for the code.
    package func redemption(of kept: KeptHandoff) throws -> HandoffRedemption {
        HandoffRedemption(
            code: code, challenge: try challenge, origin: origin,
            web: try admission(of: kept.idToken, scope: kept.scope, fitsDevice: true))
    }

    private func admission(of claims: IDTokenClaims, scope: Scope?, fitsDevice: Bool) throws -> Admission {
        let request = ExchangeRequest(
            assuming: exchange.device.profile, requestID: .random(), client: web, issuer: exchange.policy, scope: scope)
        return Admission(
            request, claims, sid: exchange.sessionID.digest,
            exchange.checks(of: request, claims, fitsDevice: fitsDevice), device: try exchange.digest(),
            milliseconds: exchange.now.seconds &* 1000)
    }

    /// Asks a registry for the code as the broker does.
    package func make(on registry: any HandoffRegistry) async throws -> (facts: HandoffFacts, refusal: HandoffFailure?)
    {
        let entry = try entry
        let facts = try await registry.make(entry)
        return (facts, refusal(entry, facts))
    }

    /// Redeems the code as the broker does, and judges the answer by the rules of the core.
    package func redeem(on registry: any HandoffRegistry) async throws -> Result<GrantFacts, HandoffError> {
        let asked = try redemption(of: try #require(try await registry.handoff(code)))
        let facts = try await registry.redeem(asked)
        return Result { () throws(HandoffError) in try decide(asked, facts) }
    }
}

extension Result where Success == GrantFacts, Failure == HandoffError {
    /// Why the redemption was refused; `nil`: it was not.
    package var refusal: HandoffFailure? {
        if case .failure(.refused(let refusal)) = self { refusal } else { nil }
    }

    package var grant: GrantFacts? { try? get() }

    /// Where rules and registry disagree.
    package var defect: String? {
        if case .failure(.broken(let defect)) = self { defect } else { nil }
    }
}
