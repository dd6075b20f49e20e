import BrokerHarness
import JOSE
import StrictCoding

/// The broker's key set, to check a sample of its signatures with.
struct PublishedKeys {
    private let keys: JSONWebKeySet

    init(of broker: Broker) async throws {
        keys = try JSONWebKeySet(document: try await broker.get("/.well-known/jwks.json").body)
    }

    /// - Returns: How many there were; throws at the first that does not verify.
    func verify(_ tokens: [String]) throws -> Int {
        for token in tokens {
            let jws = try CompactJWS(token)
            let verified = try jws.verified(by: try keys.key(for: jws.header))
            guard jws.header.type == "at+jwt", verified.claims.contains("client_id") else {
                throw ManagedProcess.Failure(description: "the answer holds no access token")
            }
        }
        return tokens.count
    }
}
