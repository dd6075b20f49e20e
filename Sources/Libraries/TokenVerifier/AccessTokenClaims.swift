public import StrictCoding

/// The claims of a verified access token, RFC 9068 §2.2. Times are in seconds since 1970.
public struct AccessTokenClaims: Sendable {
    /// `iss`.
    public let issuer: String
    /// The user: `sub` after the verifier's `subjectPrefix`. Use it as the key of a user in your API: it names one user,
    /// whichever identity provider the login was at.
    public let subject: String
    /// `idp`: the identity provider at which the user logged in; nil if absent.
    public let identityProvider: String?
    /// `client_id`: the app that received the token.
    public let clientID: String
    /// `aud`.
    public let audience: [String]
    /// `iat`.
    public let issuedAt: Int64
    /// `exp`.
    public let expiresAt: Int64
    /// `jti`.
    public let tokenID: String
    /// `scope`; empty if absent.
    public let scope: Set<String>
    /// `auth_time`: when the user logged in. Refresh and exchange do not change it.
    public let authenticatedAt: Int64?
    /// `acr`.
    public let contextClass: String?
    /// `amr`; empty if absent.
    public let methods: [String]
    /// `session_id`: the broker's name of the session, as its audit and its commands show it.
    public let sessionID: String?
    /// `cnf.jkt`: the thumbprint of the key that must sign the DPoP proof (RFC 9449 §6.1); nil: not bound.
    public let proofKeyThumbprint: String?
    /// All claims, including these, as the issuer wrote them.
    public let all: JSONObject

    init(_ claims: JSONObject, subjectPrefix: String, reservedPrefixes: Set<String>) throws(VerificationError) {
        issuer = try Self.text("iss", of: claims)
        let subject = try Self.text("sub", of: claims)
        guard !reservedPrefixes.contains(where: { subject.utf8.starts(with: $0.utf8) }) else {
            throw VerificationError(.malformedClaim, claim: "sub")
        }
        self.subject = subjectPrefix + subject
        identityProvider = claims.string("idp")
        clientID = try Self.text("client_id", of: claims)
        guard let audience = claims.oneOrMoreStrings("aud"), !audience.isEmpty else {
            throw VerificationError(.malformedClaim, claim: "aud")
        }
        self.audience = audience
        issuedAt = try Self.required(Self.time("iat", of: claims), "iat")
        expiresAt = try Self.required(Self.time("exp", of: claims), "exp")
        tokenID = try Self.text("jti", of: claims)
        scope = try Self.scope(of: claims)
        authenticatedAt = try Self.time("auth_time", of: claims)
        contextClass = claims.string("acr")
        methods = claims.strings("amr") ?? []
        sessionID = claims.string("session_id")
        proofKeyThumbprint = claims.object("cnf")?.string("jkt")
        all = claims
    }

    /// Throws `insufficientScope` unless the token has every given scope (RFC 6750 §3.1).
    public func requires(scope required: String...) throws(VerificationError) {
        try requires(scope: required)
    }

    /// Throws `insufficientScope` unless the token has every given scope (RFC 6750 §3.1).
    public func requires(scope required: some Sequence<String>) throws(VerificationError) {
        guard required.allSatisfy(scope.contains) else { throw VerificationError(.insufficientScope) }
    }

    private static func text(_ name: String, of claims: JSONObject) throws(VerificationError) -> String {
        guard let text = claims.string(name), !text.isEmpty else {
            throw VerificationError(.malformedClaim, claim: name)
        }
        return text
    }

    /// RFC 6749 §3.3: ASCII tokens separated by single spaces. An absent claim means no scopes.
    private static func scope(of claims: JSONObject) throws(VerificationError) -> Set<String> {
        guard claims.contains("scope") else { return [] }
        guard let text = claims.string("scope"), text.isPrintableASCII() else {
            throw VerificationError(.malformedClaim, claim: "scope")
        }
        return Set(text.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) })
    }

    /// nil if absent.
    static func time(_ name: String, of claims: JSONObject) throws(VerificationError) -> Int64? {
        guard let value = claims[name] else { return nil }
        return try required(value.number?.wholeSeconds, name)
    }

    private static func required<Value>(_ value: Value?, _ name: String) throws(VerificationError) -> Value {
        guard let value else { throw VerificationError(.malformedClaim, claim: name) }
        return value
    }
}
