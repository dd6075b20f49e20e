package import JOSE
import Logging
import NativeSSO
import StrictCoding
import Synchronization

/// A parsed `client_assertion`; its signature is not verified yet. It prints as `****`.
struct ClientAssertion: Sendable, Redacted {
    private let token: CompactJWS

    /// No legitimate claim of an assertion is long.
    private static let limits = CompactJWS.Limits(token: 8 << 10, payload: 4 << 10)
    /// RFC 7523bis; older clients send `JWT` or no type.
    private static let types = ["client-authentication+jwt", "JWT"]

    /// Checks form, header, algorithm and `typ`.
    init(_ text: String) throws(ClientRefusal) {
        do throws(JWSError) {
            token = try CompactJWS(text, limits: Self.limits)
            try token.requireAlgorithm(among: AssertionSignature.algorithms)
        } catch {
            throw ClientRefusal(error)
        }
        guard token.header.type == nil || Self.types.contains(where: token.header.hasType) else {
            throw .assertionWrongType
        }
    }

    var header: JOSEHeader { token.header }

    /// The client that it claims, from `sub`. Only for choosing the keys.
    var claimedClient: ClientID? { token.unverifiedSubject.flatMap(ClientID.init) }

    /// Always performs one verification.
    func verified(by key: AssertionKey) throws(ClientRefusal) -> VerifiedJWS {
        switch key {
        case .registered(let key):
            do throws(JWSError) {
                return try token.verified(by: key)
            } catch {
                throw ClientRefusal(error)
            }
        case .none(let refusal, let decoy):
            _ = try? token.verified(by: decoy)
            throw refusal
        }
    }
}

extension ClientRefusal {
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .assertionMalformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .assertionHeader
        case .wrongType: self = .assertionWrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .assertionAlgorithm
        case .unknownKey, .ambiguousKey: self = .assertionUnknownKey
        case .badSignature: self = .assertionSignature
        }
    }
}

/// The signatures of client assertions.
package enum AssertionSignature {
    /// The accepted algorithms, as far as the key is for them. RFC 8725 §3.1.
    package static let algorithms: Set<SignatureAlgorithm> = [.es256, .ps256, .rs256]
}

enum AssertionKey {
    case registered(JSONWebKey)
    /// The client has no usable key. The decoy costs a verification under the same algorithm, so the response time does
    /// not reveal an unknown client or a client without a key. An RSA key of another length than the decoy's 2048 bits
    /// does differ in time.
    case none(ClientRefusal, decoy: JSONWebKey)

    /// - Parameter keys: All keys of one client; `nil` if it has none.
    init(for header: JOSEHeader, among keys: JSONWebKeySet?) throws(PortError) {
        do throws(JWSError) {
            guard let keys else { throw .unknownKey }
            self = .registered(try keys.key(for: header))
        } catch {
            self = .none(ClientRefusal(error), decoy: try Self.decoy(for: header.algorithm))
        }
    }

    private static func decoy(for algorithm: SignatureAlgorithm) throws(PortError) -> JSONWebKey {
        guard case .success(let key) = algorithm == .es256 ? curve : rsa else {
            throw .broken("the decoy for \(algorithm.rawValue) is no key")
        }
        return key
    }

    // Made for this purpose; their private parts were discarded. A valid signature under them is still refused.
    private static let curve = key(
        """
        {"kty":"EC","crv":"P-256","alg":"ES256",\
        "x":"gRMGM8QpXtULL2qeR6izrcS8ozgypph6d8KtS258vVc","y":"RXN9okdXQwVHlgPvR-juLQ1x1ouwPKmgCNzmNzX0u0Q"}
        """)
    private static let rsa = key(
        """
        {"kty":"RSA","e":"AQAB",\
        "n":"0dpGfGeQDaE7y6n1-Y6Dc16nVN4pPzuGI64jbWtvx4-3L3AzllbZpjf5OM9LliuB2tJQgCIcwM0q4ERvetnwCZQr0qdwixVBQopq\
        eCvAknrtW1QKwoPdrxrgmHcw4faCjo09TGd_EfCFtr8cCKAeMzk-im9qKef6Hd2Xi5xjGSFWJ4THrM2fuu3l0Cw4YVMKMn8wSGEr_y2F\
        4s419JEpvsubo9s53pwxxojg_JHcwI01c-2J4eNZ7mDkMrVWFocYQ_EWgVZ-eCnGHf7ZisPerK8a6MqKxfXJOJAw_SO5nWJ0Wu2ljqlg\
        36XwIRsP8w9mlSnGurO32qM72kR1qZ3OLw"}
        """)

    private static func key(_ json: String) -> Result<JSONWebKey, any Error> {
        Result { try JSONWebKey(try JSONReader.parse(json.utf8).object ?? JSONObject()) }
    }
}

/// The registered keys of clients, ready to verify. Each client's keys are parsed once, and again after a change.
final class ClientKeySets: Sendable {
    private struct Entry {
        let registered: [ClientKey]
        let keys: Result<JSONWebKeySet, PortError>
    }

    /// By registered client, so that callers cannot make it grow.
    private let entries = Mutex<[ClientID: Entry]>([:])
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// - Parameter registered: All current keys of the client.
    /// - Returns: `nil` if there are none.
    /// - Throws: An outage if one of them cannot be read: a newer release may have stored it.
    func keys(of client: ClientID?, _ registered: [ClientKey]) throws(PortError) -> JSONWebKeySet? {
        guard let client else { return nil }
        let found = entries.withLock { entries -> Entry? in
            guard !registered.isEmpty else {
                entries[client] = nil
                return nil
            }
            if let entry = entries[client], entry.registered == registered { return entry }
            let entry = Entry(registered: registered, keys: read(registered, of: client))
            entries[client] = entry
            return entry
        }
        return try found?.keys.get()
    }

    private func read(_ registered: [ClientKey], of client: ClientID) -> Result<JSONWebKeySet, PortError> {
        let keys = registered.compactMap { read($0, of: client) }
        // The registry holds one row per `kid`, so no two keys share one.
        guard keys.count == registered.count, let set = try? JSONWebKeySet(keys) else {
            return .failure(.outage(Outage(.database, "a key of client \(client) cannot be read")))
        }
        return .success(set)
    }

    private func read(_ key: ClientKey, of client: ClientID) -> JSONWebKey? {
        if let json = try? JSONReader.parse(key.publicJWK.utf8).object, let own = try? JSONWebKey(json),
            let named = try? JSONWebKey(own.parameters, keyID: key.id.string, algorithm: own.algorithm)
        {
            return named
        }
        logger.error(
            "a registered key of a client cannot be read",
            metadata: ["client_id": .string(client.string), "kid": .string(key.id.string)])
        return nil
    }
}

/// A verified assertion that authenticates its client on first use: RFC 7523 §3, OpenID Connect Core §9.
extension PresentedAssertion {
    /// Clock difference between client and broker.
    static let skew: Seconds = 60
    /// Octets of a `jti`.
    private static let longestID = 255

    /// Checks the claims in the order of RFC 7523 §3.
    ///
    /// - Parameters:
    ///   - client: The owner of the key that verified the token.
    ///   - names: The broker's own names: the accepted audiences. Any other audience is refused, also as a second
    ///     one: another server could replay an assertion that it also accepts (RFC 7523bis §3).
    init(_ token: VerifiedJWS, of client: Client, at names: [String], now: UnixTime) throws(ClientRefusal) {
        let (claims, id) = (token.claims, client.id)
        guard claims.string("iss")?.hasSameOctets(as: id.string) == true else { throw .assertionIssuer }
        guard claims.string("sub")?.hasSameOctets(as: id.string) == true else { throw .assertionSubject }
        guard let audience = claims.oneOrMoreStrings("aud"), (1...names.count).contains(audience.count),
            audience.allSatisfy({ names.contains(where: $0.hasSameOctets) })
        else { throw .assertionAudience }
        let until = try Self.expiry(claims, within: client.assertionLifetime, at: now).adding(Self.skew)
        // OpenID Connect Core §9: required.
        guard let jti = claims.string("jti"), (1...Self.longestID).contains(jti.utf8.count) else { throw .assertionID }
        self.init(id: AssertionID(client: id, jti: jti), until: until)
    }

    /// `exp` is required, still to come and not far ahead; `nbf` and `iat`, if given, are past. RFC 7523 §3, 4 allows
    /// refusing an unreasonably long life: an assertion is made for one request.
    private static func expiry(
        _ claims: JSONObject, within longestLife: Seconds, at now: UnixTime
    ) throws(ClientRefusal) -> UnixTime {
        let latestNow = now.adding(skew)
        guard let expiry = claims.time("exp"), now < expiry.adding(skew),
            expiry <= latestNow.adding(longestLife)
        else { throw .assertionExpiry }
        if claims.contains("nbf") {
            guard let notBefore = claims.time("nbf"), notBefore <= latestNow else { throw .assertionNotBefore }
        }
        if claims.contains("iat") {
            guard let issuedAt = claims.time("iat"), issuedAt <= latestNow else { throw .assertionIssuedAt }
            guard expiry <= issuedAt.adding(longestLife) else { throw .assertionExpiry }
        }
        return expiry
    }
}
