import Testing

@testable import NativeSSO

extension Client {
    /// A public client that may have the scope `openid`.
    static func app(_ id: ClientID, proofPolicy: ProofPolicy = .off) -> Client {
        Client(
            id: id, allowedScope: Scope(["openid"]), defaultScope: Scope(["openid"]),
            audiences: ["https://api.example.com"], proofPolicy: proofPolicy)
    }
}

extension Admission {
    /// An exchange in the 2018 profile, at the instant of `iat`.
    /// - Parameters:
    ///   - firstSight: The lifetime of a session that the exchange may create; `nil` if it may not.
    ///   - isPermitted: Whether the device value matches the id_token.
    static func made(
        by client: Client, _ idToken: IDTokenClaims, sessionID: SessionID, device: DeviceDigest,
        firstSight: Seconds? = nil,
        isPermitted: Bool = true, number: UInt64
    ) throws -> Admission {
        let request = ExchangeRequest(
            requestID: UniqueID(high: 2, low: number), client: client,
            issuer: IssuerPolicy(
                issuer: idToken.issuer, profiles: [.deviceID], admitsOnFirstSight: firstSight != nil,
                sessionLifetime: firstSight ?? .days(30)),
            subjectToken: SubjectToken("an id_token"),
            device: try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: .deviceID)), scope: nil)
        let checks = ExchangeChecks(
            of: request, idToken, fitsDevice: isPermitted, scopesRequiringConsent: .empty, idleLimit: .days(30),
            at: idToken.issuedAt)
        return Admission(
            request: request, idToken: idToken, sid: sessionID.digest, checks: checks, device: device,
            proposedGrantID: UniqueID(high: 3, low: number),
            proposedSessionRowID: UniqueID(high: 4, low: number))
    }
}

extension Rotation {
    static func made(of client: Client, grantID: UniqueID, generation: Int32) -> Rotation {
        Rotation(
            RefreshRequest(
                requestID: UniqueID(high: 1, low: UInt64(generation)), client: client, refreshToken: "a refresh token",
                scope: nil),
            RefreshToken(grantID: grantID, generation: generation),
            Lifetimes(refreshGrace: 60, unboundRefreshGrace: 60, sessionIdle: .days(30)))
    }
}

extension EnrolmentEntry {
    /// An enrolment in the 2018 profile, by app-one at the instant of `iat`.
    /// - Parameter isPermitted: Whether the requested scope is within the client's allowed scope.
    static func made(
        issuer: Issuer, providerSessionID: SessionID?, subject: Subject, proofPolicy: Client.ProofPolicy = .off,
        device: UInt8, token: String, issuedAt: UnixTime, login: Login, lifetime: Seconds, isPermitted: Bool = true,
        proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil, requestID: UniqueID,
        proposedRowID: UniqueID
    ) throws -> EnrolmentEntry {
        let client = Client.app(ClientID(validated: "app-one"), proofPolicy: proofPolicy)
        let token = SubjectToken(token)
        let value = try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: .deviceID))
        let request = EnrolmentRequest(
            requestID: requestID, client: client,
            issuer: IssuerPolicy(issuer: issuer, profiles: [.deviceID], sessionLifetime: lifetime), idToken: token,
            device: value, scope: Scope([isPermitted ? "openid" : "admin"]), proof: proof, assertion: assertion)
        let idToken = IDTokenClaims(
            issuer: issuer, subject: subject, sessionID: providerSessionID, sourceClient: client.id,
            audience: [client.id], issuedAt: issuedAt, expiresAt: issuedAt.adding(3600), login: login,
            hashFunction: .sha256)
        return EnrolmentEntry(
            request: request, idToken: idToken, checks: EnrolmentChecks(of: request, idToken, at: issuedAt),
            token: EnrolledTokenDigest(of: token),
            device: try #require(DeviceDigest(octets: Array(repeating: device, count: 32))),
            proposedRowID: proposedRowID)
    }
}
