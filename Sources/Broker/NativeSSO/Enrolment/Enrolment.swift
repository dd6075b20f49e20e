/// Enrolment by exchange: an app that logged its user in at the IdP brings the login to the broker. Its sibling apps
/// can then use the login, although the IdP does not know Native SSO.
package struct Enrolment: Sendable {
    private let idTokens: any IDTokenVerifier
    private let registry: any EnrolmentRegistry
    private let devices: any DeviceDigester
    private let limits: any UseLimits
    private let mint: TokenMint
    private let clock: any WallClock

    package init(
        idTokens: any IDTokenVerifier, registry: any EnrolmentRegistry, devices: any DeviceDigester,
        limits: any UseLimits, mint: TokenMint, clock: any WallClock
    ) {
        self.idTokens = idTokens
        self.registry = registry
        self.devices = devices
        self.limits = limits
        self.mint = mint
        self.clock = clock
    }

    package func run(_ request: EnrolmentRequest) async throws(EnrolmentError) -> TokenAnswer {
        try await enrol(request, try await verify(request), device: request.device ?? .newSecret())
    }

    /// - Parameters:
    ///   - device: The device value of the request, or a new secret for it.
    ///   - accessToken: The access token that the app gets with the id_token; `nil`: none.
    func enrol(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, device: DeviceValue, accessToken: String? = nil
    ) async throws(EnrolmentError) -> TokenAnswer {
        let token = EnrolledTokenDigest(of: request.idToken)
        let checks = EnrolmentChecks(of: request, idToken, at: clock.now)
        try EnrolmentError.counting { () throws(RateLimited) in
            if checks.binding == nil {
                try limits.check(enrolmentOf: idToken, token: token, by: request.client)
            } else {
                try limits.charge(failureOf: token)
            }
        }
        // If the broker cannot sign now, the app must not lose its id_token.
        let isExchangeable = try EnrolmentError.port { () throws(PortError) in
            try mint.isExchangeable(request, idToken, device: device, accessToken: accessToken, at: clock.now)
        }
        guard isExchangeable else { throw .invalidIDToken(.malformed) }
        let entry = try await EnrolmentError.port { () async throws(PortError) in
            EnrolmentEntry(
                request, idToken, checks, token: token, device: try await devices.digest(device, at: idToken.issuer),
                milliseconds: clock.milliseconds)
        }
        // One statement, one commit; facts either way.
        let facts = try await EnrolmentError.port { () async throws(PortError) in try await registry.enrol(entry) }
        let session: EnrolledSession
        do throws(EnrolmentError) {
            session = try decide(entry, facts)
        } catch {
            // A refusal is charged to the token, unless it was above. This request is already decided: the next one
            // must wait.
            if case .refused = error, checks.binding == nil {
                do throws(RateLimited) { try limits.charge(failureOf: token) } catch {}
            }
            throw error
        }
        limits.count(enrolmentOf: idToken, by: request.client)
        return try await EnrolmentError.port { () async throws(PortError) in
            try await mint.answer(request, idToken, session, device: device, accessToken: accessToken, at: facts.now)
        }
    }

    /// Refuses the login of another client, or an old one, before anything is recorded.
    func check(_ request: EnrolmentRequest, _ idToken: IDTokenClaims) throws(EnrolmentError) {
        if let refusal = EnrolmentChecks(of: request, idToken, at: clock.now).binding { throw .refused(refusal) }
    }

    func checkSigning(for client: Client) throws(PortError) { try mint.checkSigning(for: client) }

    func verify(_ request: EnrolmentRequest) async throws(EnrolmentError) -> IDTokenClaims {
        do throws(IDTokenVerificationError) {
            return try await idTokens.verify(
                request.idToken, from: request.issuer.issuer, for: .enrolment, at: clock.now
            ).claims
        } catch {
            throw EnrolmentError(error)
        }
    }
}

/// An enrolment by exchange with a valid form and a known client. The app shows the id_token of its own login, and the
/// broker returns one that its sibling apps can use.
package final class EnrolmentRequest: Sendable {
    /// How the id_token came. The raw value is what the audit shows.
    package enum Manner: String, Sendable {
        /// The app showed it.
        case exchange
        /// The broker got it from the identity provider, for the app's code.
        case code
    }

    package let requestID: UniqueID
    /// The app that asks, as authenticated.
    package let client: Client
    /// The identity provider that `audience` named.
    package let issuer: IssuerPolicy
    package let idToken: SubjectToken
    package let manner: Manner
    /// The `device_id` of the 2018 profile; `nil`: the current profile.
    package let device: DeviceValue?
    /// `nil` if the request named no scope.
    package let scope: Scope?
    /// `nil` if the app sent no proof, or the client's policy ignores proofs.
    package let proof: PresentedProof?
    /// The client's assertion; `nil`: it authenticated in another way, or not at all.
    package let assertion: PresentedAssertion?
    /// For the audit; `nil`: none is known.
    package let trace: UniqueID?

    package init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, idToken: SubjectToken,
        manner: Manner = .exchange, device: DeviceValue?, scope: Scope?, proof: PresentedProof? = nil,
        assertion: PresentedAssertion? = nil, trace: UniqueID? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.idToken = idToken
        self.manner = manner
        self.device = device
        self.scope = scope
        self.proof = proof
        self.assertion = assertion
        self.trace = trace
    }

    package var profile: Profile { device?.profile ?? .deviceSecret }
}
