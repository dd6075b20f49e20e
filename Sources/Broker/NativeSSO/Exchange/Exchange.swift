import StrictCoding

/// The token exchange of Native SSO: app 2 presents app 1's id_token and the device value, and gets tokens of its own.
///
/// One id_token serves many sibling apps, so the broker does not record its use. An operator can end the session, or
/// revoke the grant that the exchange records.
package struct Exchange: Sendable {
    private let idTokens: any IDTokenVerifier
    private let registry: any GrantRegistry
    let directory: any ClientDirectory
    private let devices: any DeviceDigester
    private let limits: any UseLimits
    let mint: TokenMint
    private let lifetimes: Lifetimes
    let clock: any WallClock

    package init(
        idTokens: any IDTokenVerifier, registry: any GrantRegistry, directory: any ClientDirectory,
        devices: any DeviceDigester, limits: any UseLimits, mint: TokenMint, lifetimes: Lifetimes, clock: any WallClock
    ) {
        self.idTokens = idTokens
        self.registry = registry
        self.directory = directory
        self.devices = devices
        self.limits = limits
        self.mint = mint
        self.lifetimes = lifetimes
        self.clock = clock
    }

    /// - Parameter subject: Receives session, grant and clients as they become known, also for a refusal.
    package func run(
        _ request: ExchangeRequest, about subject: inout AuditSubject
    ) async throws(ExchangeError) -> TokenAnswer {
        let now = clock.now
        let idToken = try await verify(request, about: &subject, at: now)
        let asked = try await admission(request, idToken, at: now)
        // A known outage must not cost the app its grant.
        try ExchangeError.port { () throws(PortError) in
            try mint.checkSigning(for: request.client, issuesRefreshToken: request.hasRefreshToken)
        }
        let facts: AdmissionFacts
        do throws(PortError) {
            facts = try await registry.admit(asked)  // one statement, one commit; facts either way
        } catch {
            throw ExchangeError(error)
        }
        subject.session = facts.session?.id
        subject.sourceClient = facts.source.map { _ in idToken.sourceClient }
        let grant = try decide(asked, facts)  // pure; a property test holds it to the statement's guards
        subject.claimsLeftOut = asked.checks.claimsLeftOut
        guard let session = facts.session?.id else { throw .broken("a grant was recorded without a session") }
        return try await ExchangeError.port { () async throws(PortError) in
            try await mint.answer(asked, grant, in: session, at: facts.now)
        }
    }

    func verify(
        _ request: ExchangeRequest, about subject: inout AuditSubject, at now: UnixTime
    ) async throws(ExchangeError) -> IDTokenClaims {
        let idToken: IDTokenClaims
        do throws(IDTokenVerificationError) {
            let issuer = request.issuer.issuer
            switch try idTokens.verify(request.subjectToken, from: issuer, for: .exchange, at: now) {
            case .verified(let claims): idToken = claims
            case .keyUnknown(let fetching): idToken = try await fetching()
            }
        } catch {
            throw ExchangeError(error)
        }
        subject.provider = idToken.issuer
        return idToken
    }

    /// The request checks.
    /// - Parameter needsScope: `false`: the client gets no tokens.
    func admission(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, needsScope: Bool = true, at now: UnixTime
    ) async throws(ExchangeError) -> Admission {
        // A claim shape, so this check precedes all state. No exchange of this token can succeed.
        guard let sessionID = idToken.sessionID else { throw .invalidIDToken(.sessionID) }
        guard let deviceHash = idToken.deviceHash(for: request.profile) else { throw .invalidIDToken(.deviceHash) }
        if let named = idToken.mayAct, named != request.client.id { throw .refused(.mayActOther) }
        let checks = try ExchangeError.port { () throws(PortError) in
            try self.checks(
                of: request, idToken, fitsDevice: request.fitsDevice(of: idToken, hash: deviceHash),
                needsScope: needsScope, at: now)
        }
        // The token is genuine, so requests can be counted by it. Only a wrong device value counts as a failure:
        // guesses by others must not block an honest holder of a token that is too old.
        try ExchangeError.counting { () throws(RateLimited) in
            if checks.fitsDevice {
                try limits.charge(exchangeOf: idToken, onDevice: deviceHash, by: request.client)
            } else {
                try limits.charge(failureOf: idToken)
            }
        }
        let device = try await ExchangeError.port { () async throws(PortError) in
            try await devices.digest(request.device, at: idToken.issuer)
        }
        return Admission(
            request, idToken, sid: sessionID.digest, checks, device: device, milliseconds: clock.milliseconds)
    }

    func checks(
        of request: ExchangeRequest, _ idToken: IDTokenClaims, fitsDevice: Bool, needsScope: Bool = true,
        at now: UnixTime
    ) throws(PortError) -> ExchangeChecks {
        ExchangeChecks(
            of: request, idToken, fitsDevice: fitsDevice, needsScope: needsScope,
            scopesRequiringConsent: try directory.scopesRequiringConsent, idleLimit: lifetimes.sessionIdle, at: now)
    }
}

/// The tokens that an app receives. RFC 6749 §5.1, RFC 8693 §2.2.1, Native SSO §3.3. Prints as `****`.
package struct TokenAnswer: Sendable, Redacted {
    /// The token that an exchange issued. Its member is always `access_token`.
    package enum Issued: Sendable {
        case accessToken, idToken
        /// A code that hands the login to a web app.
        case webHandoff
    }

    package let accessToken: String
    /// `nil`: this is not the answer to a token exchange.
    package var issued: Issued?
    /// Whether it is bound to the key of the request's proof, so that `token_type` is `DPoP`. RFC 9449 §5.
    package var isBound = false
    /// `nil` if the token is an identity provider's, and its answer had no lifetime.
    package let expiresIn: Seconds?
    /// `nil`: no scope was requested and this broker issues no access token, or the IdP named none.
    package let scope: String?
    package var refreshToken: String?
    package var idToken: String?
    /// The IdP's id_token beside this broker's. Only in the answer to a code.
    package var providerIDToken: String?
    package var deviceSecret: String?
}

extension TokenAnswer {
    /// The identity provider's answer to a code.
    package init(_ tokens: ProviderTokens) {
        self.init(
            accessToken: tokens.accessToken, expiresIn: tokens.expiresIn.map { Seconds($0) }, scope: tokens.scope,
            refreshToken: tokens.refreshToken, idToken: tokens.idToken, providerIDToken: tokens.providerIDToken,
            deviceSecret: tokens.deviceSecret)
    }
}
