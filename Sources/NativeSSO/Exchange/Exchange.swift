/// The token exchange of Native SSO: app 2 presents app 1's id_token and the device value, and gets tokens of its own.
///
/// One id_token serves many sibling apps, so nothing here remembers having seen it: what can be taken back is the
/// session, and the grant that the exchange records.
public struct Exchange: Sendable {
    private let idTokens: any IDTokenVerifier
    private let registry: any GrantRegistry
    private let directory: any ClientDirectory
    private let devices: any DeviceDigester
    private let limits: any UseLimits
    private let mint: TokenMint
    private let lifetimes: Lifetimes
    private let clock: any WallClock

    public init(
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

    /// - Parameter subject: What the request is about, as far as that becomes known: also where it is refused.
    public func run(
        _ request: ExchangeRequest, about subject: inout AuditSubject
    ) async throws(ExchangeError) -> TokenAnswer {
        let now = clock.now
        let idToken = try await verify(request, at: now)
        subject.provider = idToken.issuer
        guard let sessionID = idToken.sessionID else { throw .invalidIDToken(.sessionID) }
        let checks = try check(request, idToken, at: now)
        try count(request, idToken, checks)
        let asked = try ExchangeError.port { () throws(PortError) in
            Admission(
                request, idToken, sessionID: sessionID, checks,
                device: try devices.digest(request.device, at: idToken.issuer),
                milliseconds: clock.milliseconds)
        }
        // One statement, one commit; facts either way.
        let facts = try await ExchangeError.port { () async throws(PortError) in try await registry.admit(asked) }
        subject.session = facts.session?.id
        subject.sourceClient = facts.source.map { _ in idToken.sourceClient }
        let grant = try decide(asked, facts)  // pure; a property test holds it to the statement's guards
        // After COMMIT: no row lock is held while a key module signs.
        return try await ExchangeError.port { () async throws(PortError) in
            try await mint.answer(asked, grant, at: facts.now)
        }
    }

    private func verify(_ request: ExchangeRequest, at now: UnixTime) async throws(ExchangeError) -> IDTokenClaims {
        do throws(IDTokenVerificationError) {
            return try await idTokens.verify(request.subjectToken, from: request.issuer.issuer, for: .exchange, at: now)
        } catch {
            switch error {
            case .refused(let defect): throw .invalidIDToken(defect)
            case .outage(let outage): throw .outage(outage)
            }
        }
    }

    /// The token is genuine, so that whoever presents it can be counted by it; the registry was not asked yet. Only a wrong
    /// device value is a guess: the holder of a token that is too old learns that, however many guess at it.
    private func count(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, _ checks: ExchangeChecks
    ) throws(ExchangeError) {
        try ExchangeError.counting { () throws(RateLimited) in
            if checks.fitsDevice, let deviceHash = idToken.deviceHash(for: request.profile) {
                try limits.charge(exchangeOf: idToken, onDevice: deviceHash, by: request.client)
            } else {
                try limits.charge(failureOf: idToken)
            }
        }
    }

    private func check(
        _ request: ExchangeRequest, _ idToken: IDTokenClaims, at now: UnixTime
    ) throws(ExchangeError) -> ExchangeChecks {
        // Claim shape, so it is judged before anything that depends on state: no grant could come of this token.
        guard let deviceHash = idToken.deviceHash(for: request.profile) else {
            throw .invalidIDToken(.deviceHash)
        }
        if let named = idToken.mayAct, named != request.client.id { throw .refused(.mayActOther) }
        let consentScope = try ExchangeError.port { () throws(PortError) in try directory.scopesRequiringConsent }
        return ExchangeChecks(
            of: request, idToken, deviceHash: deviceHash, scopesRequiringConsent: consentScope,
            idleLimit: lifetimes.sessionIdle, at: now)
    }
}
