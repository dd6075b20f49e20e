package import JOSE
package import NativeSSO
import OAuthWire
import StrictCoding

/// Tells a resource server whether an access token of this broker is alive. RFC 7662 §2.
///
/// Only a confidential client that is registered for one of the token's audiences learns anything. For every other
/// caller, and for every other kind of token, the answer is `active: false` (§2.2, §4).
package struct Introspection: Sendable {
    private let issuer: Issuer
    private let algorithms: Set<SignatureAlgorithm>
    private let key: @Sendable (JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError>
    private let registry: any RevocationRegistry
    private let idle: Seconds
    private let clock: any WallClock

    /// - Parameters:
    ///   - issuer: Ours: `iss` of the tokens.
    ///   - algorithms: Those of the key module.
    ///   - key: The published, active or retired key for a header, or why no key fits. An outage if the key may exist.
    ///   - idle: Longest time between two uses of a session.
    package init(
        issuer: Issuer, algorithms: Set<SignatureAlgorithm>,
        key: @escaping @Sendable (JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError>,
        registry: any RevocationRegistry, idle: Seconds, clock: any WallClock
    ) {
        self.issuer = issuer
        self.algorithms = algorithms
        self.key = key
        self.registry = registry
        self.idle = idle
        self.clock = clock
    }

    static let inactive = Array(#"{"active":false}"#.utf8)

    /// The JSON of the answer about a live token; `nil`: the answer is ``inactive``.
    func answer(_ token: String, to caller: Client) async throws(PortError) -> [UInt8]? {
        guard caller.authentication != .none, let claims = try await claims(of: token), isMeant(claims, for: caller),
            let session = claims.string("session_id").flatMap({ UniqueID($0) }),
            let client = claims.string("client_id").flatMap(ClientID.init),
            let issuedAt = claims["iat"]?.number?.int64, let expiry = claims["exp"]?.number?.int64,
            expiry > clock.now.seconds,
            try await registry.isLive(session, of: client, issuedAt: UnixTime(seconds: issuedAt), idle: idle)
        else { return nil }
        return Self.active(claims)
    }

    /// `nil` unless the broker signed the token, as an access token.
    private func claims(of token: String) async throws(PortError) -> JSONObject? {
        guard let parsed = try? CompactJWS(token), parsed.header.hasType(JWTType.accessToken.rawValue),
            (try? parsed.requireAlgorithm(among: algorithms)) != nil,
            case .success(let key) = try await key(parsed.header).value, let verified = try? parsed.verified(by: key),
            verified.claims.string("iss")?.utf8.elementsEqual(issuer.string.utf8) == true
        else { return nil }
        return verified.claims
    }

    private func isMeant(_ claims: JSONObject, for caller: Client) -> Bool {
        claims.oneOrMoreStrings("aud")?.contains { audience in
            caller.introspects.contains { $0.hasSameOctets(as: audience) }
        } ?? false
    }

    /// Every claim of the token, which the caller can read there as well. RFC 7662 §2.2.
    private static func active(_ claims: JSONObject) -> [UInt8] {
        let isBound = claims["cnf"]?.object?.string("jkt") != nil
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { json in
            json.member("active", true)
            json.member("token_type", (isBound ? TokenType.dpop : .bearer).rawValue)
            for claim in claims.members where !["active", "token_type"].contains(where: claim.name.hasSameOctets) {
                json.member(claim.name, claim.value)
            }
        }
        return json.bytes
    }
}
