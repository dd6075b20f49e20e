import StrictCoding

/// Makes the tokens of an answer from a committed grant.
///
/// If a signature fails, the grant stays recorded and the client gets a 503. A retried refresh returns the same
/// successor; an exchange within 10 s returns the same token, a later one the next generation.
package struct TokenMint: Sendable {
    private let issuer: Issuer
    private let signer: any TokenSigner
    private let refreshTokens: any RefreshTokenAuthenticator
    private let lifetimes: Lifetimes
    private let subjects: SubjectPrefixes

    package init(
        issuer: Issuer, signer: any TokenSigner, refreshTokens: any RefreshTokenAuthenticator, lifetimes: Lifetimes,
        subjects: SubjectPrefixes
    ) {
        self.issuer = issuer
        self.signer = signer
        self.refreshTokens = refreshTokens
        self.lifetimes = lifetimes
        self.subjects = subjects
    }

    /// The answer to an exchange. RFC 8693 §2.2.1.
    /// - Parameter session: The row of the session.
    func answer(
        _ asked: Admission, _ grant: GrantFacts, in session: UniqueID, at now: UnixTime
    ) async throws(PortError) -> TokenAnswer {
        let (client, device) = (asked.request.client, asked.request.device)
        let claims = try claims(asked, grant, in: session, at: now)
        guard let sessionID = asked.idToken.sessionID else { throw .broken("an exchange of an id_token without sid") }
        let idToken =
            client.issuesIDToken
            ? claims.siblingIDToken(in: sessionID, on: device, hashFunction: try hashFunction(for: client)) : nil
        return try await answer(
            client, claims, issued: .accessToken,
            refreshToken: asked.request.hasRefreshToken ? refreshToken(grant.id, grant.generation) : nil,
            idToken: idToken)
    }

    /// The answer to the redemption of a hand-off. It has no refresh token, so that a second browser does not take the
    /// place of the first. It always has an id_token, because the web app has no other proof of the login.
    /// - Parameter session: The row of the session.
    func answer(
        handingOff asked: Admission, _ grant: GrantFacts, in session: UniqueID, at now: UnixTime
    ) async throws(PortError) -> TokenAnswer {
        let claims = try claims(asked, grant, in: session, at: now)
        return try await answer(
            asked.request.client, claims, issued: .accessToken,
            idToken: claims.siblingIDToken(in: SessionID(of: session)))
    }

    private func claims(
        _ asked: Admission, _ grant: GrantFacts, in session: UniqueID, at now: UnixTime
    ) throws(PortError) -> AccessTokenClaims {
        let (client, idToken) = (asked.request.client, asked.idToken)
        return AccessTokenClaims(
            issuer: issuer, subject: try name(idToken.subject, at: idToken.issuer), provider: idToken.issuer,
            audiences: asked.request.resource.map { [$0] } ?? client.audiences, client: client.id,
            issuedAt: now, expiresAt: accessTokenExpiry(client, notAfter: grant.expiresAt, at: now),
            scope: asked.checks.scope, login: idToken.login, session: session, key: asked.request.proof?.key,
            copied: asked.checks.claims)
    }

    /// - Parameter idToken: The claims of the id_token; `nil`: the answer has none.
    private func answer(
        _ client: Client, _ claims: AccessTokenClaims, issued: TokenAnswer.Issued? = nil,
        refreshToken: Pending<String, PortError>? = nil, idToken: [UInt8]? = nil
    ) async throws(PortError) -> TokenAnswer {
        let signed = idToken.map { sign($0, .idToken, for: client) }
        let accessToken = sign(claims.json, .accessToken, for: client)
        // What was begun is waited for, so that every signature is counted.
        let (first, second, third) = (await accessToken.result, await refreshToken?.result, await signed?.result)
        return TokenAnswer(
            accessToken: try first.get(), issued: issued, isBound: claims.key != nil,
            expiresIn: claims.expiresAt.since(claims.issuedAt), scope: claims.scope.description,
            refreshToken: try second?.get(), idToken: try third?.get())
    }

    /// The answer to a refresh: the successor of the presented token. RFC 6749 §6.
    /// - Parameter key: The bound key of the new access token.
    func answer(
        _ asked: Rotation, _ family: FamilyFacts, key: KeyThumbprint?, at now: UnixTime
    ) async throws(PortError) -> TokenAnswer {
        let client = asked.request.client
        let (successor, overflow) = asked.token.generation.addingReportingOverflow(1)
        guard !overflow else { throw .broken("generation overflow") }
        guard let subject = family.session.subject else { throw .broken("a grant in a session without a user") }
        // The session may now end earlier than when the grant was made.
        let end = min(family.expiresAt, family.session.expiresAt)
        let claims = AccessTokenClaims(
            issuer: issuer, subject: try name(subject, at: family.provider), provider: family.provider,
            audiences: asked.request.resource.map { [$0] } ?? family.audiences, client: client.id,
            issuedAt: now, expiresAt: accessTokenExpiry(client, notAfter: end, at: now),
            scope: asked.grantedScope(of: family), login: family.login, session: family.session.id, key: key,
            copied: family.claims.only(client.copiedClaims))
        return try await answer(client, claims, refreshToken: refreshToken(asked.token.grantID, successor))
    }

    /// The answer to an enrolment. The id_token expires with the IdP's id_token or with the session, whichever is
    /// first.
    func answer(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, _ session: EnrolledSession, device: DeviceValue,
        accessToken: String? = nil, at now: UnixTime
    ) async throws(PortError) -> TokenAnswer {
        let claims = try claims(request, idToken, session, device, accessToken, at: now)
        // RFC 8693 §2.2.1 puts every issued token in `access_token`; Native SSO §3.3 puts it in `id_token`.
        let token = try await sign(claims.json, .idToken, for: request.client).value
        return TokenAnswer(
            accessToken: token, issued: .idToken, expiresIn: claims.expiresAt.since(now),
            scope: request.scope?.description, idToken: token,
            deviceSecret: request.device == nil ? device.secret : nil)
    }

    /// Whether an exchange can read the id_token of this enrolment. It is longer than the IdP's, whose claims it
    /// copies. Call this before the registry writes. Throws if the broker cannot sign now.
    func isExchangeable(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, device: DeviceValue, accessToken: String?,
        at now: UnixTime
    ) throws(PortError) -> Bool {
        // The `sid` is not known yet; every `sid` has the same length.
        let session = EnrolledSession(id: SessionID(of: UniqueID(high: 0, low: 0)), expiresAt: idToken.expiresAt)
        let json = try claims(request, idToken, session, device, accessToken, at: now).json
        return json.count <= Self.maximumClaims && (try? JSONReader.parse(json)) != nil
    }

    /// Octets; 15,019 in base64url. With a header of 500 octets and an RSA-4096 signature, the token fits into 16 KiB.
    static let maximumClaims = 11 << 10

    private func claims(
        _ request: EnrolmentRequest, _ idToken: IDTokenClaims, _ session: EnrolledSession, _ device: DeviceValue,
        _ accessToken: String?, at now: UnixTime
    ) throws(PortError) -> EnrolledIDTokenClaims {
        EnrolledIDTokenClaims(
            issuer: issuer, subject: try name(idToken.subject, at: idToken.issuer), source: idToken, issuedAt: now,
            // At least the next second: the database's clock may be ahead of the clock that checked the expiry.
            expiresAt: max(min(idToken.expiresAt, session.expiresAt), now.adding(1)), sessionID: session.id,
            device: device, accessToken: accessToken, hashFunction: try hashFunction(for: request.client),
            key: request.proof?.key)
    }

    /// Whether the broker can still name the user of a grant. The configuration may have changed since the login.
    func names(_ family: FamilyFacts) -> Bool {
        guard let subject = family.session.subject else { return true }
        return (try? subjects.name(subject, at: family.provider)) != nil
    }

    /// `sub` of a login that was verified, so that it has one.
    private func name(_ subject: Subject, at provider: Issuer) throws(PortError) -> Subject {
        do throws(SubjectTokenDefect) {
            return try subjects.name(subject, at: provider)
        } catch {
            throw .broken("the broker has no sub for a verified login: \(error)")
        }
    }

    /// Throws if the broker cannot make this client's tokens now.
    /// - Parameter issuesRefreshToken: Whether it gets a refresh token too.
    func checkSigning(for client: Client, issuesRefreshToken: Bool = false) throws(PortError) {
        if issuesRefreshToken { try refreshTokens.checkIssuing() }
        for type in [JWTType.accessToken, .idToken] { _ = try signer.algorithm(client.algorithm(of: type)) }
    }

    private func sign(_ claims: [UInt8], _ type: JWTType, for client: Client) -> Pending<String, PortError> {
        .begin { () throws(PortError) in
            let algorithm = try signer.algorithm(client.algorithm(of: type))
            return signer.beginSigning(claims, type: type, algorithm: algorithm)
        }
    }

    private func hashFunction(for client: Client) throws(PortError) -> TokenHashFunction {
        try signer.algorithm(client.algorithm(of: .idToken)).hashFunction
    }

    func read(_ refreshToken: String) async throws(PortError) -> RefreshToken? {
        try await RefreshToken.decode(refreshToken, by: refreshTokens)
    }

    private func refreshToken(_ grantID: UniqueID, _ generation: Int32) -> Pending<String, PortError> {
        RefreshToken(grantID: grantID, generation: generation).encoded(by: refreshTokens)
    }

    /// Never beyond the end of the grant or of its session.
    private func accessTokenExpiry(_ client: Client, notAfter end: UnixTime, at now: UnixTime) -> UnixTime {
        min(now.adding(client.accessTokenLifetime ?? lifetimes.accessToken), end)
    }
}
