import JOSE
import NativeSSO
import StrictCoding

/// What an assertion is verified with.
enum AssertionKey {
    case registered(JSONWebKey)
    /// There is none for it. Verifying with the decoy costs a verification under the same algorithm nevertheless, so that an
    /// unknown client, or one without a key, is not told by an answer that comes at once. An RSA key of another length than
    /// the decoy's 2048 bits can be told by the time.
    case none(ClientRefusal, decoy: JSONWebKey)

    /// - Parameter keys: All that one client has; `nil` if there is none.
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

    // Made for this purpose; their private parts were thrown away, and nothing that they verify is good.
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
