import StrictCoding

/// The hand-off of a login from an app to a web app in the device's browser.
///
/// The app gets a code for the web app and opens it in the browser. The web app redeems the code for an access token and an
/// id_token of the same session, without a refresh token. The rules of the exchange judge both steps: the app's use of the
/// login, and the web app's.
///
/// The web app begins: it makes a verifier, keeps it with the browser's own session, and gives its challenge to the app. So
/// a code works only in the browser that began.
package struct WebHandoff: Sendable {
    private let exchange: Exchange
    private let registry: any HandoffRegistry
    private let records: any RecordAuthenticator
    private let issuers: [IssuerPolicy]

    /// - Parameters:
    ///   - exchange: Verifies id_tokens and knows the request checks.
    ///   - issuers: The identity providers, as configured.
    package init(
        exchange: Exchange, registry: any HandoffRegistry, records: any RecordAuthenticator, issuers: [IssuerPolicy]
    ) {
        self.exchange = exchange
        self.registry = registry
        self.records = records
        self.issuers = issuers
    }

    // MARK: The app

    /// Makes a code for the web app.
    /// - Parameter subject: Receives session and clients as they become known, also for a refusal.
    package func make(
        _ request: HandoffRequest, about subject: inout AuditSubject
    ) async throws(HandoffError) -> TokenAnswer {
        let now = exchange.clock.now
        let app: Admission
        do throws(ExchangeError) {
            let idToken = try await exchange.verify(request.exchange, about: &subject, at: now)
            app = try await exchange.admission(request.exchange, idToken, needsScope: false, at: now)
        } catch {
            throw HandoffError(error) { .exchange($0, by: request.exchange.client) }
        }
        let planned = try HandoffError.port { () throws(PortError) in try plan(request, app, at: now) }
        guard let web = planned else { throw .refused(.handoff(.webAppUnusable)) }
        var randomness = SystemRandomNumberGenerator()
        let code = HandoffCode(using: &randomness)
        let entry = try await HandoffError.port { () async throws(PortError) in
            HandoffEntry(
                app: app, web: web, code: try await code.digest(by: records), challenge: request.challenge,
                origin: request.origin)
        }
        // One statement, one commit; facts either way.
        let facts = try await HandoffError.port { () async throws(PortError) in try await registry.make(entry) }
        subject.session = facts.app.session?.id
        subject.sourceClient = facts.app.source.map { _ in app.idToken.sourceClient }
        if let refusal = refusal(entry, facts) {
            guard !facts.isKept else { throw .broken("a code was kept for a refused hand-off: \(refusal)") }
            throw .refused(refusal)
        }
        guard facts.isKept else { throw .broken("no code was kept for a hand-off that breaks no rule") }
        return TokenAnswer(
            accessToken: code.secret, issued: .webHandoff, expiresIn: HandoffCode.life,
            scope: web.checks.scope.description)
    }

    /// The exchange that the web app would make with the login; `nil`: it cannot redeem a code.
    private func plan(
        _ request: HandoffRequest, _ app: Admission, at now: UnixTime
    ) throws(PortError) -> Admission? {
        guard let client = try exchange.directory.client(request.webClient), client.redeemsHandoffs else { return nil }
        let asked = ExchangeRequest(
            assuming: app.request.profile, requestID: app.request.requestID, client: client,
            issuer: app.request.issuer, scope: app.request.scope, trace: app.request.trace)
        return Admission(
            asked, app.idToken, sid: app.sid,
            try exchange.checks(of: asked, app.idToken, fitsDevice: app.checks.fitsDevice, at: now),
            device: app.device, milliseconds: exchange.clock.milliseconds)
    }

    // MARK: The web app

    /// Redeems a code. The rules judge the login again: it may have ended since, or the web app may ask for less.
    /// - Parameter subject: Receives session and clients as they become known, also for a refusal.
    package func redeem(
        _ request: RedemptionRequest, about subject: inout AuditSubject
    ) async throws(HandoffError) -> TokenAnswer {
        guard request.client.authentication != .none else { throw .refused(.handoff(.webAppUnusable)) }
        guard let code = HandoffCode(request.code) else { throw .refused(.handoff(.codeUnknown)) }
        let digest = try await HandoffError.port { () async throws(PortError) in
            try await code.digest(by: records)
        }
        let found = try await HandoffError.port { () async throws(PortError) in try await registry.handoff(digest) }
        guard let kept = found else { throw .refused(.handoff(.codeUnknown)) }
        let shown: HandoffChallenge
        do throws(HandoffRefusal) {
            shown = try kept.challenge(shownBy: request)
        } catch {
            throw .refused(.handoff(error))
        }
        subject.provider = kept.idToken.issuer
        guard let issuer = issuers.first(where: { $0.issuer == kept.audience }) else {
            throw .refused(.handoff(.withdrawn))
        }
        // The code stands for an id_token of the identity provider, which no broker takes while it is suspended.
        let suspended = try HandoffError.port { () throws(PortError) in try exchange.directory.suspendedProviders }
        guard !suspended.contains(issuer.issuer) else { throw .refused(.providerSuspended) }
        // A known outage must not cost the web app its code.
        try HandoffError.port { () throws(PortError) in try exchange.mint.checkSigning(for: request.client) }
        let asked = try HandoffError.port { () throws(PortError) in
            HandoffRedemption(
                code: digest, challenge: shown, origin: request.origin,
                web: try admission(request, kept, issuer, at: exchange.clock.now))
        }
        // One statement, one commit; facts either way.
        let facts = try await HandoffError.port { () async throws(PortError) in try await registry.redeem(asked) }
        subject.session = facts.web.session?.id
        subject.sourceClient = facts.web.source.map { _ in kept.idToken.sourceClient }
        let grant = try decide(asked, facts)
        subject.claimsLeftOut = asked.web.checks.claimsLeftOut
        guard let session = facts.web.session?.id else { throw .broken("a grant was recorded without a session") }
        return try await HandoffError.port { () async throws(PortError) in
            try await exchange.mint.answer(handingOff: asked.web, grant, in: session, at: facts.web.now)
        }
    }

    private func admission(
        _ request: RedemptionRequest, _ kept: KeptHandoff, _ issuer: IssuerPolicy, at now: UnixTime
    ) throws(PortError) -> Admission {
        let asked = ExchangeRequest(
            assuming: kept.profile, requestID: request.requestID, client: request.client, issuer: issuer,
            scope: request.scope ?? kept.scope, resource: request.resource, proof: request.proof,
            assertion: request.assertion, trace: request.trace)
        return Admission(
            asked, kept.idToken, sid: kept.sid,
            try exchange.checks(of: asked, kept.idToken, fitsDevice: true, at: now), device: kept.device,
            milliseconds: exchange.clock.milliseconds)
    }
}

/// An app's request for a code, with a valid form and a known client.
package struct HandoffRequest: Sendable {
    /// The app's use of the login. Its client may use a login of its own: the app gets no tokens by it. Its scope is the
    /// largest that the web app gets; `nil`: the default scope of the web app.
    package let exchange: ExchangeRequest
    /// The web app that is to redeem the code. Not yet known to be registered.
    package let webClient: ClientID
    package let origin: WebOrigin
    package let challenge: HandoffChallenge

    package init(
        exchange: ExchangeRequest, webClient: ClientID, origin: WebOrigin, challenge: HandoffChallenge
    ) {
        self.exchange = exchange
        self.webClient = webClient
        self.origin = origin
        self.challenge = challenge
    }
}

/// A web app's redemption of a code, with a valid form and a known client. It prints as `****`.
package struct RedemptionRequest: Sendable, Redacted {
    package let requestID: UniqueID
    /// The web app, as authenticated.
    package let client: Client
    /// The code as presented. A credential.
    let code: String
    /// The verifier of the browser's challenge, as presented. A credential.
    let verifier: String
    /// The origin at which the web app received the code.
    package let origin: WebOrigin
    /// `nil`: what the app asked for.
    package let scope: Scope?
    /// The one audience of the client that the access token is for; `nil`: all of them. RFC 8707 §2.
    let resource: String?
    /// `nil` if the web app sent no proof, or the client's policy ignores proofs.
    let proof: PresentedProof?
    /// `nil` if the client authenticated in another way.
    let assertion: PresentedAssertion?
    /// For the audit; `nil`: none is known.
    let trace: UniqueID?

    package init(
        requestID: UniqueID, client: Client, code: String, verifier: String, origin: WebOrigin, scope: Scope?,
        resource: String? = nil, proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil,
        trace: UniqueID? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.code = code
        self.verifier = verifier
        self.origin = origin
        self.scope = scope?.withoutLogin
        self.resource = resource
        self.proof = proof
        self.assertion = assertion
        self.trace = trace
    }
}
