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
