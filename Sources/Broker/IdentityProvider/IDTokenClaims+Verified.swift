import JOSE
import NativeSSO
import StrictCoding

/// Tolerated clock difference between the issuer of a token and the broker.
let skew: Seconds = 60

/// Validates the claims of an id_token: OpenID Connect Core §2 and §3.1.3.7. One function per group of rules, in the
/// order of the list. An attacker may control every claim until it has passed its check here.
extension IDTokenClaims {
    /// Does not check: whether `exp` has passed (Native SSO §6.3), the token's age, and `nonce`, `at_hash` and
    /// `c_hash`, which the source client checks.
    /// - Parameters:
    ///   - issuer: The issuer whose key verified the token.
    ///   - provider: The IdP of the login, to which sharing groups, devices and sessions belong, in an id_token of the
    ///     broker; `nil`: the issuer.
    ///   - subjects: How the broker names users.
    convenience init(
        _ token: VerifiedJWS, issuer: Issuer, provider: Issuer? = nil, subjects: SubjectPrefixes,
        for use: IDTokenUse = .exchange,
        isKeyCurrent: Bool = false, at now: UnixTime
    ) throws(SubjectTokenDefect) {
        let claims = token.claims
        try Self.checkIssuer(claims, issuer)
        let subject = try Self.subject(claims, of: issuer, loginAt: provider, subjects)
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

    /// `iss` must equal the issuer exactly, including slash, case and port.
    static func checkIssuer(_ claims: JSONObject, _ issuer: Issuer) throws(SubjectTokenDefect) {
        guard claims.string("iss")?.hasSameOctets(as: issuer.string) == true else { throw .issuerMismatch }
    }

    /// The IdP's own `sub`, of which the broker can make one of its own. An id_token of the broker has the latter. If
    /// the prefix of its IdP changed since, it names nobody.
    static func subject(
        _ claims: JSONObject, of issuer: Issuer, loginAt provider: Issuer?, _ subjects: SubjectPrefixes
    ) throws(SubjectTokenDefect) -> Subject {
        guard let subject = claims.string("sub").flatMap(Subject.init) else { throw .subject }
        guard let provider else {
            _ = try subjects.name(subject, at: issuer)
            return subject
        }
        guard let own = subjects.subject(named: subject, at: provider) else { throw .notEnrolled }
        return own
    }

    static func sessionID(_ claims: JSONObject) throws(SubjectTokenDefect) -> SessionID {
        guard let sessionID = claims.string("sid").flatMap(SessionID.init) else { throw .sessionID }
        return sessionID
    }

    /// Any hash present must be a non-empty string. The request decides which one is required.
    static func deviceHashes(_ claims: JSONObject) throws(SubjectTokenDefect) -> (String?, String?) {
        for name in ["di_hash", "ds_hash"] where claims.contains(name) {
            guard claims.string(name)?.isEmpty == false else { throw .deviceHash }
        }
        return (claims.string("di_hash"), claims.string("ds_hash"))
    }

    /// §3.1.3.7, checks 3 to 5: the source client is the only audience, or `azp` names it among several.
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

    /// `iat` and `exp` are required, with `iat` before `exp`. `iat` and `nbf` must not exceed the broker's time by
    /// more than the skew.
    static func times(_ claims: JSONObject, at now: UnixTime) throws(SubjectTokenDefect) -> (UnixTime, UnixTime) {
        guard let issuedAt = claims.time("iat"), issuedAt <= now.adding(skew) else { throw .issuedAt }
        guard let expiresAt = claims.time("exp"), expiresAt > issuedAt else { throw .expiry }
        guard claims.hasBegun(at: now) else { throw .notBefore }
        return (issuedAt, expiresAt)
    }

    static func login(_ claims: JSONObject, issuedAt: UnixTime) throws(SubjectTokenDefect) -> Login {
        var login = Login()
        if claims.contains("auth_time") {
            // The database cannot store the distant past, and no login dates from before 1970.
            guard let time = claims.time("auth_time"), time.seconds >= 0, time <= issuedAt.adding(skew) else {
                throw .authenticationTime
            }
            // Some IdPs write 0 for an unknown time. Treat it as absent: no login is that old.
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

    /// Refuses claims of other kinds of tokens (RFC 8725 §3.12): `events` of a logout token, `scope` of an access
    /// token, and `act` of an impersonated login, which must not spread.
    static func checkKind(_ claims: JSONObject) throws(SubjectTokenDefect) {
        guard !claims.contains("events") else { throw .logoutToken }
        guard !claims.contains("scope"), !claims.contains("scp") else { throw .accessToken }
        guard !claims.contains("act") else { throw .actorClaim }
    }

    /// RFC 8693 §4.4: `client_id` names the client that may act; without it, `sub` does.
    static func mayAct(_ claims: JSONObject) throws(SubjectTokenDefect) -> ClientID? {
        guard let value = claims["may_act"] else { return nil }
        guard let object = value.object,
            let name = object.contains("client_id") ? object.string("client_id") : object.string("sub"),
            let client = ClientID(name)
        else { throw .mayAct }
        return client
    }

    /// These texts go into the database, tokens and logs: bounded, without control characters.
    private static func isStorable(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension TokenHashFunction {
    /// OpenID Connect Core §3.1.3.6; Ed25519 uses SHA-512.
    init(_ algorithm: SignatureAlgorithm) {
        switch algorithm {
        case .rs256, .ps256, .es256: self = .sha256
        case .rs384, .ps384, .es384: self = .sha384
        case .rs512, .ps512, .es512, .edDSA, .ed25519: self = .sha512
        }
    }
}

extension JSONObject {
    /// `aud`: one client or a list.
    var audience: [ClientID]? {
        guard let names = oneOrMoreStrings("aud") else { return nil }
        let clients = names.compactMap { ClientID($0) }
        return clients.count == names.count ? clients : nil
    }

    /// `iat` of a token that must be at most this old; `nil` if it is missing, older or ahead.
    func issuedAt(within age: Seconds, before now: UnixTime) -> UnixTime? {
        guard let issuedAt = time("iat"), issuedAt <= now.adding(skew),
            now.since(issuedAt) <= Seconds(age.count + skew.count)
        else { return nil }
        return issuedAt
    }

    /// `exp` of a token that may live this long; `nil` if it is missing, past or later.
    func expiresAt(within life: Seconds, after issuedAt: UnixTime, at now: UnixTime) -> UnixTime? {
        guard let expiresAt = time("exp"), expiresAt > issuedAt, now < expiresAt.adding(skew),
            expiresAt.since(issuedAt) <= life
        else { return nil }
        return expiresAt
    }

    /// Whether `nbf`, if present, is valid and not ahead.
    func hasBegun(at now: UnixTime) -> Bool { !contains("nbf") || time("nbf").map { $0 <= now.adding(skew) } ?? false }

    /// `jti`: 1 to 255 octets.
    var tokenID: String? { string("jti").flatMap { (1...255).contains($0.utf8.count) ? $0 : nil } }
}
