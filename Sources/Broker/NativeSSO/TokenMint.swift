import StrictCoding

/// Makes the tokens of an answer from a grant that is already recorded and committed.
///
/// A signature that fails afterwards leaves a grant nobody holds: the caller gets a 503, and its retry is the same
/// successor again (refresh) or the next generation (exchange).
package struct TokenMint: Sendable {
    private let issuer: Issuer
    private let signer: any TokenSigner
    private let refreshTokens: any RefreshTokenAuthenticator
    private let lifetimes: Lifetimes

    package init(
        issuer: Issuer, signer: any TokenSigner, refreshTokens: any RefreshTokenAuthenticator, lifetimes: Lifetimes
    ) {
        self.issuer = issuer
        self.signer = signer
        self.refreshTokens = refreshTokens
        self.lifetimes = lifetimes
    }

    /// The answer to an exchange. RFC 8693 §2.2.1.
    func answer(
        _ asked: Admission, _ grant: GrantFacts, at now: UnixTime
    ) throws(PortError) -> TokenAnswer {
        let (client, idToken, device) = (asked.request.client, asked.idToken, asked.request.device)
        let (scope, key) = (asked.checks.scope, asked.request.proof?.key)
        let claims = AccessTokenClaims(
            issuer: issuer, subject: idToken.subject, audiences: client.audiences, client: client.id,
            issuedAt: now, expiresAt: accessTokenExpiry(client, notAfter: grant.expiresAt, at: now),
            scope: scope, login: idToken.login, sessionID: client.includesSessionID ? asked.sessionID : nil, key: key)
        let hasRefreshToken = device.profile == .deviceID || client.issuesRefreshToken
        return TokenAnswer(
            accessToken: try signer.sign(payload: claims.json, type: .accessToken), issued: .accessToken,
            isBound: key != nil, expiresIn: claims.expiresAt.since(now), scope: scope.description,
            refreshToken: hasRefreshToken ? try refreshToken(grant.id, grant.generation) : nil,
            idToken: client.issuesIDToken
                ? try signer.sign(
                    payload: claims.siblingIDToken(
                        in: asked.sessionID, on: device, hashFunction: signer.hashFunction), type: .idToken) : nil)
    }

    /// The answer to a refresh: the successor of the token that was presented. RFC 6749 §6.
    /// - Parameter key: The one that the new access token is bound to.
    func answer(
        _ asked: Rotation, _ chain: ChainFacts, key: KeyThumbprint?, at now: UnixTime
    ) throws(PortError) -> TokenAnswer {
        let client = asked.request.client
        let (successor, overflow) = asked.token.generation.addingReportingOverflow(1)
        guard !overflow else { throw .broken("generation overflow") }
        guard let subject = chain.session.subject else { throw .broken("a grant in a session without a user") }
        let scope = asked.grantedScope(of: chain)
        // A session's life may have been cut short since the grant was made.
        let end = min(chain.expiresAt, chain.session.expiresAt)
        let claims = AccessTokenClaims(
            issuer: issuer, subject: subject, audiences: chain.audiences, client: client.id,
            issuedAt: now, expiresAt: accessTokenExpiry(client, notAfter: end, at: now),
            scope: scope, login: chain.login, sessionID: client.includesSessionID ? chain.sessionID : nil, key: key)
        return TokenAnswer(
            accessToken: try signer.sign(payload: claims.json, type: .accessToken), isBound: key != nil,
            expiresIn: claims.expiresAt.since(now), scope: scope.description,
            refreshToken: try refreshToken(asked.token.grantID, successor))
    }

    /// The answer to an enrolment. The id_token is good for as long as the identity provider's, and as a subject token for
    /// as long as the session.
    func answer(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, _ session: EnrolledSession, device: DeviceValue,
        accessToken: String? = nil, at now: UnixTime
    ) throws(PortError) -> TokenAnswer {
        let claims = try claims(request, idToken, session, device, accessToken, at: now)
        // RFC 8693 §2.2.1 calls whatever was issued `access_token`; `id_token` is where Native SSO §3.3 has it.
        let token = try signer.sign(payload: claims.json, type: .idToken)
        return TokenAnswer(
            accessToken: token, issued: .idToken, expiresIn: claims.expiresAt.since(now),
            scope: request.scope?.description, idToken: token,
            deviceSecret: request.device == nil ? device.secret : nil)
    }

    /// Whether an exchange will be able to read the id_token that this enrolment would give: what the identity provider said is
    /// copied, and a little comes to it. To be asked before anything is written. Throws where nothing could be signed now.
    func isExchangeable(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, device: DeviceValue, accessToken: String?,
        at now: UnixTime
    ) throws(PortError) -> Bool {
        // Its `sid` is not known yet; all have one length.
        let session = EnrolledSession(id: .new(), expiresAt: idToken.expiresAt)
        let json = try claims(request, idToken, session, device, accessToken, at: now).json
        return json.count <= Self.maximumClaims && (try? JSONReader.parse(json)) != nil
    }

    /// Octets. 15,019 in base64url: with a signature of RSA-4096 and a header of 500 octets no more than the 16 KiB that are read.
    static let maximumClaims = 11 << 10

    private func claims(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, _ session: EnrolledSession, _ device: DeviceValue,
        _ accessToken: String?, at now: UnixTime
    ) throws(PortError) -> EnrolledIDTokenClaims {
        EnrolledIDTokenClaims(
            issuer: issuer, source: idToken, issuedAt: now,
            // Not before the next second: the database's clock may be ahead of the one that found the token unexpired.
            expiresAt: max(min(idToken.expiresAt, session.expiresAt), now.adding(1)), sessionID: session.id,
            device: device, accessToken: accessToken, hashFunction: try signer.hashFunction, key: request.proof?.key)
    }

    /// Throws where nothing could be signed now.
    func checkSigning() throws(PortError) { _ = try signer.hashFunction }

    func read(_ refreshToken: String) throws(PortError) -> RefreshToken? {
        try RefreshToken.decode(refreshToken, by: refreshTokens)
    }

    private func refreshToken(_ grantID: UniqueID, _ generation: Int32) throws(PortError) -> String {
        try RefreshToken(grantID: grantID, generation: generation).encoded(by: refreshTokens)
    }

    /// Never beyond the end of the grant or of its session.
    private func accessTokenExpiry(_ client: Client, notAfter end: UnixTime, at now: UnixTime) -> UnixTime {
        min(now.adding(client.accessTokenLifetime ?? lifetimes.accessToken), end)
    }
}
