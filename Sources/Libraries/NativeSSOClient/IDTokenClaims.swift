import JOSE
import OAuthWire
public import StrictCoding

/// The claims of an id_token, OpenID Connect Core §2. Times are in seconds since 1970.
public struct IDTokenClaims: Sendable {
    /// The user: `iss` and `sub`.
    public let user: User
    /// `sid`: the session at the IdP; nil if absent.
    public let sessionID: String?
    /// `exp`.
    public let expiresAt: Int64
    /// `iat`.
    public let issuedAt: Int64?
    /// `auth_time`: when the user logged in.
    public let authenticatedAt: Int64?
    /// `acr`.
    public let contextClass: String?
    /// `amr`; empty if absent.
    public let methods: [String]
    /// `email`. Show it, but do not recognise the user by it: it can change hands.
    public let email: String?
    /// `name`.
    public let name: String?
    /// All claims, including these.
    public let all: JSONObject

    /// A user of one issuer. `sub` alone identifies no user. OpenID Connect Core §5.7.
    public struct User: Sendable, Equatable {
        /// `iss`.
        public let issuer: String
        /// `sub`.
        public let subject: String

        /// Compares octets.
        public static func == (a: User, b: User) -> Bool {
            a.issuer.hasSameOctets(as: b.issuer) && a.subject.hasSameOctets(as: b.subject)
        }
    }

    /// In seconds: phones' clocks may be wrong.
    private static let leeway: Int64 = 300

    /// Checks the claims: OpenID Connect Core §3.1.3.7, items 2 to 5 and 9 to 11.
    ///
    /// - Parameters:
    ///   - issuer: The expected `iss`: the IdP, or a broker that redeemed the code.
    ///   - clientID: The only `aud`.
    ///   - nonce: nil: the token is not the answer to a login of this process.
    ///   - now: Seconds since 1970.
    init(
        _ claims: JSONObject, from issuer: String, for clientID: String, nonce: String?, at now: Int64
    ) throws(ClientError) {
        guard claims.string("iss")?.hasSameOctets(as: issuer) == true else { throw .untrustedIDToken(.otherIssuer) }
        guard let subject = claims.string("sub"), !subject.isEmpty else { throw .untrustedIDToken(.malformed) }
        user = User(issuer: issuer, subject: subject)
        let audience = claims.oneOrMoreStrings("aud") ?? []
        guard audience.count == 1, audience[0].hasSameOctets(as: clientID) else {
            throw .untrustedIDToken(.otherAudience)
        }
        if let nonce, claims.string("nonce")?.hasSameOctets(as: nonce) != true { throw .untrustedIDToken(.otherNonce) }
        guard let expiry = claims.number("exp")?.wholeSeconds, now - Self.leeway < expiry else {
            throw .untrustedIDToken(.expired)
        }
        expiresAt = expiry
        issuedAt = claims.number("iat")?.wholeSeconds
        authenticatedAt = claims.number("auth_time")?.wholeSeconds
        sessionID = claims.string("sid")
        contextClass = claims.string("acr")
        methods = claims.strings("amr") ?? []
        email = claims.string("email")
        name = claims.string("name")
        all = claims
    }

    /// Reads the claims of an id_token that the app got from the token endpoint over TLS, which §3.1.3.7, item 6,
    /// accepts instead of a check of the signature. ``AppLogin`` checks it all the same.
    static func unverified(_ idToken: Credential) throws(ClientError) -> JSONObject {
        let segments = idToken.secret.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64URL.decode(segments[1].utf8),
            let claims = (try? JSONReader.parse(payload))?.object
        else { throw .untrustedIDToken(.malformed) }
        return claims
    }
}

extension SharedLogin {
    /// The user of the login. The app that stored it has checked the id_token; nil if the item was damaged since.
    var user: IDTokenClaims.User? {
        guard let claims = try? IDTokenClaims.unverified(idToken), let issuer = claims.string("iss"),
            let subject = claims.string("sub")
        else { return nil }
        return IDTokenClaims.User(issuer: issuer, subject: subject)
    }
}

/// The signature keys of one issuer, loaded when a token needs them. RFC 7517.
actor IssuerKeys {
    private let address: String
    private let transport: any HTTPTransport
    private let now: @Sendable () -> Int64
    private var keys: JSONWebKeySet?
    private var loadedAt: Int64 = 0

    /// An unknown key loads the set again, but not twice in this time, in seconds.
    private static let pause: Int64 = 30

    init(_ address: String, _ transport: any HTTPTransport, now: @escaping @Sendable () -> Int64) {
        self.address = address
        self.transport = transport
        self.now = now
    }

    /// Checks form, type, algorithm and signature of an id_token, and returns its claims.
    func verify(_ idToken: Credential) async throws(ClientError) -> JSONObject {
        let token: CompactJWS
        do throws(JWSError) {
            token = try CompactJWS(idToken.secret)
        } catch {
            throw .untrustedIDToken(error == .unsupportedAlgorithm ? .badSignature : .malformed)
        }
        guard token.header.type == nil || token.header.hasType("JWT") else { throw .untrustedIDToken(.malformed) }
        var isFresh = false
        if keys == nil {
            try await load()
            isFresh = true
        }
        for _ in 1...2 {
            do throws(JWSError) {
                guard let keys else { throw .unknownKey }
                return try token.verified(by: keys, allowing: Set(SignatureAlgorithm.allCases)).claims
            } catch {
                guard error == .unknownKey, !isFresh, now() - loadedAt >= Self.pause else {
                    throw .untrustedIDToken(.badSignature)
                }
            }
            try await load()
            isFresh = true
        }
        throw .untrustedIDToken(.badSignature)
    }

    private func load() async throws(ClientError) {
        let document = try await transport.document(
            at: address, accepting: "application/jwk-set+json, application/json")
        guard let keys = try? JSONWebKeySet(document: document) else { throw .untrustedMetadata(.malformed(address)) }
        self.keys = keys
        loadedAt = now()
    }
}
