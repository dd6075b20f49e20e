import JOSE
import NativeSSO
import StrictCoding

/// The rules of OpenID Connect Core §2 and §3.1.3.7 for an id_token that names a login: one function per group of rules, in the
/// order of the list. Every claim is what an attacker would like it to be until its line here was passed.
extension IDTokenClaims {
    /// Clock difference between issuer and broker.
    static let skew: Seconds = 60

    /// Not checked: that `exp` is still to come (Native SSO §6.3), the token's age, and `nonce`, `at_hash`, `c_hash`, which belong
    /// to the app that logged in.
    /// - Parameters:
    ///   - issuer: Whose key verified the token.
    ///   - provider: The identity provider of the login; `nil`: the issuer. Sharing groups, devices and sessions are its.
    convenience init(
        _ token: VerifiedJWS, issuer: Issuer, provider: Issuer? = nil, for use: IDTokenUse = .exchange,
        isKeyCurrent: Bool = false, at now: UnixTime
    ) throws(SubjectTokenDefect) {
        let claims = token.claims
        try Self.checkIssuer(claims, issuer)
        let subject = try Self.subject(claims)
        let sessionID = use == .enrolment && !claims.contains("sid") ? nil : try Self.sessionID(claims)
        let (deviceIDHash, deviceSecretHash) = try Self.deviceHashes(claims)
        let (audience, sourceClient) = try Self.audience(claims)
        let (issuedAt, expiresAt) = try Self.times(claims, at: now)
        let login = try Self.login(claims, issuedAt: issuedAt)
        try Self.checkKind(claims)
        self.init(
            issuer: provider ?? issuer, subject: subject, sessionID: sessionID, sourceClient: sourceClient,
            audience: audience,
            issuedAt: issuedAt, expiresAt: expiresAt, login: login, deviceIDHash: deviceIDHash,
            deviceSecretHash: deviceSecretHash, hashFunction: TokenHashFunction(token.header.algorithm),
            mayAct: try Self.mayAct(claims), isKeyCurrent: isKeyCurrent, claims: claims)
    }

    /// Exactly the issuer whose keys verified the token: no slash, case or port is forgiven.
    static func checkIssuer(_ claims: JSONObject, _ issuer: Issuer) throws(SubjectTokenDefect) {
        guard claims.string("iss")?.hasSameOctets(as: issuer.string) == true else { throw .issuerMismatch }
    }

    static func subject(_ claims: JSONObject) throws(SubjectTokenDefect) -> Subject {
        guard let subject = claims.string("sub").flatMap(Subject.init) else { throw .subject }
        return subject
    }

    static func sessionID(_ claims: JSONObject) throws(SubjectTokenDefect) -> SessionID {
        guard let sessionID = claims.string("sid").flatMap(SessionID.init) else { throw .sessionID }
        return sessionID
    }

    /// Whichever is present must be a text; which one is needed is said by the request.
    static func deviceHashes(_ claims: JSONObject) throws(SubjectTokenDefect) -> (String?, String?) {
        for name in ["di_hash", "ds_hash"] where claims.contains(name) {
            guard claims.string(name)?.isEmpty == false else { throw .deviceHash }
        }
        return (claims.string("di_hash"), claims.string("ds_hash"))
    }

    /// §3.1.3.7, 3 to 5: the app that the token was issued to is the only audience, or `azp` says which of several it is.
    static func audience(_ claims: JSONObject) throws(SubjectTokenDefect) -> ([ClientID], ClientID) {
        guard let audience = claims.audience, let first = audience.first else { throw .audience }
        guard claims.contains("azp") else {
            guard audience.count == 1 else { throw .authorizedParty }
            return (audience, first)
        }
        guard let party = claims.string("azp").flatMap(ClientID.init), audience.contains(party) else {
            throw .authorizedParty
        }
        return (audience, party)
    }

    /// `iat` and `exp` are required, in this order, and neither `iat` nor `nbf` lies ahead of our clock by more than the skew.
    static func times(_ claims: JSONObject, at now: UnixTime) throws(SubjectTokenDefect) -> (UnixTime, UnixTime) {
        let latest = now.adding(skew)
        guard let issuedAt = claims.time("iat"), issuedAt <= latest else { throw .issuedAt }
        guard let expiresAt = claims.time("exp"), expiresAt > issuedAt else { throw .expiry }
        if claims.contains("nbf") {
            guard let notBefore = claims.time("nbf"), notBefore <= latest else { throw .notBefore }
        }
        return (issuedAt, expiresAt)
    }

    static func login(_ claims: JSONObject, issuedAt: UnixTime) throws(SubjectTokenDefect) -> Login {
        var login = Login()
        if claims.contains("auth_time") {
            // It goes into the database, which has no name for the far past; before 1970 it is nobody's login.
            guard let time = claims.time("auth_time"), time.seconds >= 0, time <= issuedAt.adding(skew) else {
                throw .authenticationTime
            }
            // 0 is what a provider writes that does not know. As if it were not there: nothing is as old as that.
            login.authenticatedAt = time.seconds == 0 ? nil : time
        }
        if claims.contains("acr") {
            guard let contextClass = claims.string("acr"), isStorable(contextClass) else { throw .login }
            login.contextClass = contextClass
        }
        if claims.contains("amr") {
            guard let methods = claims.strings("amr"), methods.count <= 16, methods.allSatisfy(isStorable) else {
                throw .login
            }
            login.methods = methods
        }
        return login
    }

    /// Nothing that another kind of token would have (RFC 8725 §3.12): a logout token's `events`, an access token's `scope`, the
    /// `act` of an impersonated login, which must not spread.
    static func checkKind(_ claims: JSONObject) throws(SubjectTokenDefect) {
        guard !claims.contains("events") else { throw .logoutToken }
        guard !claims.contains("scope"), !claims.contains("scp") else { throw .accessToken }
        guard !claims.contains("act") else { throw .actorClaim }
    }

    /// RFC 8693 §4.4: who may act is named by `client_id`, or by `sub` where that is all there is.
    static func mayAct(_ claims: JSONObject) throws(SubjectTokenDefect) -> ClientID? {
        guard let value = claims["may_act"] else { return nil }
        guard let object = value.object,
            let name = object.contains("client_id") ? object.string("client_id") : object.string("sub"),
            let client = ClientID(name)
        else { throw .mayAct }
        return client
    }

    /// These texts go into the database, into tokens and into logs: bounded, and without control characters.
    private static func isStorable(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension TokenHashFunction {
    /// OpenID Connect Core §3.1.3.6; Ed25519 hashes with SHA-512.
    init(_ algorithm: SignatureAlgorithm) {
        switch algorithm {
        case .rs256, .ps256, .es256: self = .sha256
        case .rs384, .ps384, .es384: self = .sha384
        case .rs512, .ps512, .es512, .edDSA, .ed25519: self = .sha512
        }
    }
}

extension JSONObject {
    /// `aud`: one client, or a list of them.
    var audience: [ClientID]? {
        guard let names = string("aud").map({ [$0] }) ?? strings("aud") else { return nil }
        let clients = names.compactMap { ClientID($0) }
        return clients.count == names.count ? clients : nil
    }

    func time(_ name: String) -> UnixTime? { number(name)?.wholeSeconds.map(UnixTime.init(seconds:)) }
}
