import JOSE
import NativeSSO
import StrictCoding

extension FreshIDToken {
    /// The rules of ``IDTokenClaims/init(_:issuer:at:)``, but for `sid`, which may be missing.
    init(_ token: VerifiedJWS, issuer: Issuer, at now: UnixTime) throws(SubjectTokenDefect) {
        let claims = token.claims
        try IDTokenClaims.checkIssuer(claims, issuer)
        let subject = try IDTokenClaims.subject(claims)
        let providerSessionID = claims.contains("sid") ? try IDTokenClaims.sessionID(claims) : nil
        let (deviceIDHash, deviceSecretHash) = try IDTokenClaims.deviceHashes(claims)
        let (audience, client) = try IDTokenClaims.audience(claims)
        let (issuedAt, expiresAt) = try IDTokenClaims.times(claims, at: now)
        let login = try IDTokenClaims.login(claims, issuedAt: issuedAt)
        try IDTokenClaims.checkKind(claims)
        _ = try IDTokenClaims.mayAct(claims)  // it goes on as it is, and must be one that an exchange can read
        self.init(
            issuer: issuer, subject: subject, providerSessionID: providerSessionID, client: client,
            audience: audience, issuedAt: issuedAt, expiresAt: expiresAt, login: login, deviceIDHash: deviceIDHash,
            deviceSecretHash: deviceSecretHash, hashFunction: TokenHashFunction(token.header.algorithm),
            claims: claims)
    }
}
