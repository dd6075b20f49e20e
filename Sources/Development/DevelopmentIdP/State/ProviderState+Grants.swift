import StrictCoding

extension ProviderState {
    /// A code for the user of `session`.
    func issueCode(for request: AuthorizationRequest, in session: LoginSession, at now: Int64) -> String {
        forgetExpired(at: now)
        let code = RandomToken.make()
        codes[code] = IssuedCode(
            request: request, subject: session.subject, sid: session.sid, authentication: session.authentication,
            expiresAt: now + lifetimes.code)
        return code
    }

    /// Redeems a code: one attempt each, right or wrong. A second attempt takes back what came of the first
    /// (RFC 6749 §4.1.2).
    func redeem(
        _ redemption: CodeRedemption, at now: Int64
    ) throws(GrantRefusal) -> (Grant, of: AuthorizationRequest) {
        guard var code = codes[redemption.code] else { throw .unknown }
        if case .spent(let grantID) = code.status {
            if let grantID { revoke(grantID: grantID) }
            throw .usedBefore
        }
        code.status = .spent(grantID: nil)
        codes[redemption.code] = code
        guard now < code.expiresAt else { throw .expired }
        guard code.request.clientID.hasSameOctets(as: redemption.clientID) else { throw .otherClient }
        guard code.request.redirectURI.hasSameOctets(as: redemption.redirectURI) else { throw .otherRedirectURI }
        guard code.request.challenge.isMet(by: redemption.verifier) else { throw .verifierMismatch }
        guard let cookie = sessions.first(where: { $0.value.sid == code.sid })?.key else { throw .sessionEnded }
        sessions[cookie]?.clients.insert(code.request.clientID)
        let grant = Grant(
            id: RandomToken.make(), clientID: code.request.clientID, subject: code.subject, sid: code.sid,
            authentication: code.authentication, scope: code.request.scope, deviceIDHash: redemption.device?.hash,
            expiresAt: code.request.issuesExpired.contains(.refreshToken) ? now : now + lifetimes.refreshToken)
        grants[grant.id] = grant
        code.status = .spent(grantID: grant.id)
        codes[redemption.code] = code
        return (grant, code.request)
    }

    /// Spends a refresh token. Reuse of a spent token revokes the grant (RFC 9700 §4.14.2).
    func refresh(_ token: String, clientID: String, scope: [String]?, at now: Int64) throws(GrantRefusal) -> Grant {
        guard let record = refreshTokens[token], let grant = grants[record.grantID] else { throw .unknown }
        guard grant.clientID.hasSameOctets(as: clientID) else {
            revoke(grantID: grant.id)
            throw .otherClient
        }
        guard !record.isSpent else {
            revoke(grantID: grant.id)
            throw .usedBefore
        }
        guard now < grant.expiresAt else { throw .expired }
        guard Set(scope ?? []).isSubset(of: grant.scope) else { throw .scopeExceeded }
        refreshTokens[token]?.isSpent = true
        return grant
    }

    /// Remembers an access token under `grant`, and makes the refresh token that goes with it: only if the user's absence was
    /// granted, as `offline_access` (OpenID Connect Core §11).
    func issueTokens(_ access: String, under grant: Grant, scope: [String], issuedAt: Int64) -> String? {
        accessTokens[access] = AccessToken(grantID: grant.id, scope: scope, expiresAt: issuedAt + lifetimes.accessToken)
        guard grant.scope.contains("offline_access") else { return nil }
        let refresh = RandomToken.make()
        refreshTokens[refresh] = RefreshToken(grantID: grant.id)
        return refresh
    }

    /// The device secret to return with an id_token: the presented one if it was made here for the same user, otherwise a
    /// new one, as if none had been sent (Native SSO §3.4).
    func deviceSecret(presented: String?, subject: String) -> String {
        if let presented, deviceSecrets[presented] == subject { return presented }
        let secret = RandomToken.make()
        deviceSecrets[secret] = subject
        return secret
    }

    /// Whose access token this is, and for what.
    func access(token: String, at now: Int64) -> (subject: String, scope: [String])? {
        guard let record = accessTokens[token], now < record.expiresAt, let grant = grants[record.grantID] else {
            return nil
        }
        return (grant.subject, record.scope)
    }

    func revoke(grantID: String) {
        grants[grantID] = nil
        refreshTokens = refreshTokens.filter { $0.value.grantID != grantID }
        accessTokens = accessTokens.filter { $0.value.grantID != grantID }
    }
}

/// A token request with an authorization code, RFC 6749 §4.1.3 and RFC 7636 §4.5.
struct CodeRedemption: Sendable {
    let code: String
    let clientID: String
    let redirectURI: String
    let verifier: String
    let device: DeviceIdentifier?
}

/// Why a code or refresh token was not honoured. All but the last are `invalid_grant` outside.
enum GrantRefusal: Error, Sendable {
    case unknown, expired, usedBefore, otherClient, otherRedirectURI, verifierMismatch, sessionEnded
    case scopeExceeded
}
