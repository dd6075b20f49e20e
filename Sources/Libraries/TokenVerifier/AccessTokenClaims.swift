public import StrictCoding

/// The claims of a verified access token, RFC 9068 §2.2. Instants are seconds since 1970.
public struct AccessTokenClaims: Sendable {
    public let issuer: String
    /// The user.
    public let subject: String
    /// The app that the token was issued to.
    public let clientID: String
    public let audience: [String]
    public let issuedAt: Int64
    public let expiresAt: Int64
    /// `jti`.
    public let tokenID: String
    public let scope: Set<String>
    /// When the user logged in; never later by refresh or exchange.
    public let authenticatedAt: Int64?
    /// `acr`.
    public let contextClass: String?
    /// `amr`.
    public let methods: [String]
    /// `sid`, where the issuer is configured to include it.
    public let sessionID: String?
    /// `cnf.jkt`: thumbprint of the key that must sign a DPoP proof beside this token (RFC 9449 §6.1).
    public let proofKeyThumbprint: String?
    /// Every claim.
    public let all: JSONObject

    init(_ claims: JSONObject) throws(VerificationError) {
        issuer = try Self.text("iss", of: claims)
        subject = try Self.text("sub", of: claims)
        clientID = try Self.text("client_id", of: claims)
        guard let audience = claims.string("aud").map({ [$0] }) ?? claims.strings("aud"), !audience.isEmpty else {
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
        sessionID = claims.string("sid")
        proofKeyThumbprint = claims.object("cnf")?.string("jkt")
        all = claims
    }

    /// Throws `insufficientScope` unless the token has every one of `scope`.
    public func requires(scope required: String...) throws(VerificationError) {
        try requires(scope: required)
    }

    /// Throws `insufficientScope` unless the token has every one of `scope`.
    public func requires(scope required: some Sequence<String>) throws(VerificationError) {
        guard required.allSatisfy(scope.contains) else { throw VerificationError(.insufficientScope) }
    }

    private static func text(_ name: String, of claims: JSONObject) throws(VerificationError) -> String {
        guard let text = claims.string(name), !text.isEmpty else {
            throw VerificationError(.malformedClaim, claim: name)
        }
        return text
    }

    /// RFC 6749 §3.3: tokens of ASCII, separated by single spaces. Absent is the empty scope.
    private static func scope(of claims: JSONObject) throws(VerificationError) -> Set<String> {
        guard claims.contains("scope") else { return [] }
        guard let text = claims.string("scope"), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw VerificationError(.malformedClaim, claim: "scope")
        }
        return Set(text.split(separator: " ").map(String.init))
    }

    /// nil where absent.
    static func time(_ name: String, of claims: JSONObject) throws(VerificationError) -> Int64? {
        guard let value = claims[name] else { return nil }
        return try required(value.number?.wholeSeconds, name)
    }

    private static func required<Value>(_ value: Value?, _ name: String) throws(VerificationError) -> Value {
        guard let value else { throw VerificationError(.malformedClaim, claim: name) }
        return value
    }
}
