import Crypto
import StrictCoding

package struct Client: Sendable, Hashable {
    /// How the client authenticates at the token endpoint. RFC 6749 §2.3. The broker accepts no other method from it.
    package enum Authentication: String, Sendable, CaseIterable {
        /// A public client: it is identified, not authenticated.
        case none
        case clientSecretBasic = "client_secret_basic"
        case privateKeyJWT = "private_key_jwt"
    }

    package enum Grant: String, Sendable, CaseIterable {
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        case refreshToken = "refresh_token"
    }

    /// Whether the client's requests need a DPoP proof. RFC 9449.
    package enum ProofPolicy: String, Sendable, CaseIterable {
        /// The broker ignores proofs. New tokens are bearer tokens.
        case off
        /// A request with a proof gets tokens bound to its key.
        case optional
        /// RFC 9449 §5.2: `dpop_bound_access_tokens`.
        case required
    }

    /// What the `aud` of a client's assertion may name.
    package enum AssertionAudience: String, Sendable, CaseIterable {
        /// The broker's issuer alone. RFC 7523bis §3.
        case issuer
        /// Also the URL of the token endpoint, as many libraries write it. RFC 7523 §3, 3.
        case tokenEndpoint = "token_endpoint"
    }

    package let id: ClientID
    package var authentication: Authentication
    package var isEnabled: Bool
    package var grants: Set<Grant>
    /// The largest scope of the client.
    package var allowedScope: Scope
    /// The scope of a request that names none.
    package var defaultScope: Scope
    /// The resource servers of its access tokens: `aud`. RFC 9068 §3.
    package var audiences: [String]
    /// The resource servers whose access tokens it may introspect, if it is confidential. RFC 7662 §4.
    package var introspects: [String]
    package var accessTokenLifetime: Seconds?
    /// Absolute lifetime of a token family; `nil`: that of the session.
    package var refreshTokenLifetime: Seconds?
    /// Whether an exchange under draft 07 (or before) returns a refresh token; the 2018 profile always does.
    package var issuesRefreshToken: Bool
    /// Whether an exchange also returns an id_token of this broker.
    package var issuesIDToken: Bool
    /// Whether the app may exchange its own id_token.
    package var allowsSelfExchange: Bool
    /// Accepted `acr` values; one is enough. Empty: any login is accepted.
    package var acceptedContextClasses: [String]
    /// Longest time since the login; `nil`: only the session's limits apply.
    package var maximumAuthenticationAge: Seconds?
    package var proofPolicy: ProofPolicy
    /// Names of claims that its access tokens copy from the id_token: at most ``CopiedClaims/mostNames``.
    package var copiedClaims: [String]
    /// Signs its access tokens; `nil`: the broker's first algorithm.
    package var accessTokenAlgorithm: KeyAlgorithm?
    /// Signs its id_tokens; `nil`: the algorithm of its access tokens.
    package var idTokenAlgorithm: KeyAlgorithm?
    /// Of a `private_key_jwt` client.
    package var assertionAudience: AssertionAudience
    /// Of a `private_key_jwt` client: the longest time from `iat`, or from now, to `exp` of its assertions.
    package var assertionLifetime: Seconds

    package init(
        id: ClientID, authentication: Authentication = .none, isEnabled: Bool = true,
        grants: Set<Grant> = Set(Grant.allCases), allowedScope: Scope, defaultScope: Scope, audiences: [String],
        accessTokenLifetime: Seconds? = nil, refreshTokenLifetime: Seconds? = nil, issuesRefreshToken: Bool = true,
        issuesIDToken: Bool = false, allowsSelfExchange: Bool = false,
        acceptedContextClasses: [String] = [], maximumAuthenticationAge: Seconds? = nil,
        proofPolicy: ProofPolicy = .off, copiedClaims: [String] = [],
        assertionAudience: AssertionAudience = .issuer, assertionLifetime: Seconds = .minutes(5),
        introspects: [String] = [], accessTokenAlgorithm: KeyAlgorithm? = nil, idTokenAlgorithm: KeyAlgorithm? = nil
    ) {
        self.id = id
        self.authentication = authentication
        self.isEnabled = isEnabled
        self.grants = grants
        self.allowedScope = allowedScope
        self.defaultScope = defaultScope
        self.audiences = audiences
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.issuesRefreshToken = issuesRefreshToken
        self.issuesIDToken = issuesIDToken
        self.allowsSelfExchange = allowsSelfExchange
        self.acceptedContextClasses = acceptedContextClasses
        self.maximumAuthenticationAge = maximumAuthenticationAge
        self.proofPolicy = proofPolicy
        self.copiedClaims = copiedClaims
        self.assertionAudience = assertionAudience
        self.assertionLifetime = assertionLifetime
        self.introspects = introspects
        self.accessTokenAlgorithm = accessTokenAlgorithm
        self.idTokenAlgorithm = idTokenAlgorithm
    }

    /// The algorithm that its tokens of this type ask for.
    package func algorithm(of type: JWTType) -> KeyAlgorithm? {
        type == .idToken ? idTokenAlgorithm ?? accessTokenAlgorithm : accessTokenAlgorithm
    }

    /// A public client with a key is identified by the key alone: tokens issued with one key are only for that key. A
    /// confidential client is identified by its authentication, and may change the key. RFC 9449 §5.
    package var isKnownByKey: Bool { authentication == .none && proofPolicy != .off }
}

/// Clients and scopes as of the last few seconds: serves identification, authentication and everything that only
/// depends on a client's registration. Whether an app may share a login *now* is decided by ``GrantRegistry``.
///
/// A look-up is an outage if the directory was never loaded or is too old, or if it needs a row that cannot be read.
package protocol ClientDirectory: Sendable {
    /// `nil` for an unknown client.
    func client(_ id: ClientID) throws(PortError) -> Client?

    /// The client's secrets and keys; empty for a public or unknown client.
    func credentials(of id: ClientID) throws(PortError) -> ClientCredentials

    /// Every scope token that an enabled client may get, for the metadata. An outage only before the first load.
    var allowedScopes: Scope { get throws(PortError) }

    /// The identity providers in whose sharing groups the client is.
    func providers(of id: ClientID) throws(PortError) -> Set<Issuer>

    /// The identity providers from which no login is taken for now.
    var suspendedProviders: Set<Issuer> { get throws(PortError) }

    /// The scope tokens that need the user's consent.
    var scopesRequiringConsent: Scope { get throws(PortError) }
}

/// The default lifetimes, for issuers and clients without their own.
package struct Lifetimes: Sendable, Hashable {
    /// `expires_in` of an access token.
    package let accessToken: Seconds
    /// The grace period of a token family that is bound to a key or to the client's authentication.
    package let refreshGrace: Seconds
    /// The grace period of a public client's token family without a key.
    package let unboundRefreshGrace: Seconds
    /// Longest time between two uses of a session.
    package let sessionIdle: Seconds

    package init(
        accessToken: Seconds = .minutes(5), refreshGrace: Seconds = 60, unboundRefreshGrace: Seconds = 10,
        sessionIdle: Seconds = .days(30)
    ) {
        self.accessToken = accessToken
        self.refreshGrace = refreshGrace
        self.unboundRefreshGrace = unboundRefreshGrace
        self.sessionIdle = sessionIdle
    }
}

/// The registered secrets and keys of a confidential client. It contains only digests and public keys.
package struct ClientCredentials: Sendable, Hashable {
    /// Two at most: a secret and its successor. Empty unless the client is one of `client_secret_basic`.
    package let secrets: [ClientSecretDigest]
    /// Empty unless the client is one of `private_key_jwt`.
    package let keys: [ClientKey]

    package init(secrets: [ClientSecretDigest] = [], keys: [ClientKey] = []) {
        self.secrets = secrets
        self.keys = keys
    }

    package static let none = ClientCredentials()
}

/// A public key of a `private_key_jwt` client.
package struct ClientKey: Sendable, Hashable {
    package let id: ClientKeyID
    /// RFC 7517, with `alg`: the only algorithm of the key.
    package let publicJWK: String

    package init(id: ClientKeyID, publicJWK: String) {
        self.id = id
        self.publicJWK = publicJWK
    }

    /// Octet by octet.
    package static func == (a: ClientKey, b: ClientKey) -> Bool {
        a.id == b.id && a.publicJWK.utf8.elementsEqual(b.publicJWK.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A secret that the broker made for a client: 256 random bits in base64url. It prints as `****`.
///
/// The command shows it once. The broker stores only its ``ClientSecretDigest``.
package struct ClientSecret: Sendable, Redacted {
    /// The text itself. Never for a log.
    package let secret: String

    /// - Parameter randomness: Cryptographically secure, such as the operating system's.
    package init(using randomness: inout some RandomNumberGenerator) {
        secret = Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &randomness) })
    }

    package var digest: ClientSecretDigest { ClientSecretDigest(of: secret) }
}

/// SHA-256 of a client's secret; the broker stores nothing else of it. 256 random bits cannot be guessed, however fast
/// the hash is.
package struct ClientSecretDigest: Hashable, Sendable {
    package let octets: [UInt8]

    package init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    /// - Parameter secret: The presented secret.
    package init(of secret: String) { octets = Array(SHA256.hash(data: Array(secret.utf8))) }

    /// Compares in constant time.
    package func matches(_ other: ClientSecretDigest) -> Bool { ConstantTime.equal(octets, other.octets) }

    /// The first eight hexadecimal digits: they distinguish a client's secrets, and tell a holder which one it has.
    package var label: String { Hexadecimal.encode(octets.prefix(4)) }
}
