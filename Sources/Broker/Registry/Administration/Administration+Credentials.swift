package import NativeSSO
import PostgresClient

extension Administration {
    /// The live secrets of a client, oldest first.
    package func secrets(of client: ClientID) async throws(AdministrationError) -> [RegisteredSecret] {
        try await rows(CredentialStatements.secrets, [], CredentialStatements.secret).filter { $0.client == client }
    }

    /// Adds a secret to a client. Refused if the client has two.
    package func addSecret(
        _ digest: ClientSecretDigest, to client: ClientID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.insertSecret, [.text(client.string), .bytes(digest.octets)], as: .clientSecretAdded, act,
            details: Self.details(client, digest),
            orElse: .refused("client \(client) has two secrets, or another was added just now"))
    }

    /// Retires a secret. Each broker refuses it once it has reloaded.
    package func retireSecret(
        _ digest: ClientSecretDigest, of client: ClientID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.deleteSecret, [.text(client.string), .bytes(digest.octets)], as: .clientSecretRetired, act,
            details: Self.details(client, digest), orElse: .notFound("secret \(digest.label) of client \(client)"))
    }

    /// The keys of a client, oldest first.
    package func keys(of client: ClientID) async throws(AdministrationError) -> [RegisteredClientKey] {
        try await rows(CredentialStatements.keys, [], CredentialStatements.key).filter { $0.client == client }
    }

    /// - Parameter key: The public key. The caller has checked that it can verify signatures and has set `alg`.
    package func addKey(
        _ key: ClientKey, to client: ClientID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.insertKey, [.text(client.string), .text(key.id.string), .text(key.publicJWK)], as: .clientKeyAdded,
            act, details: [("client_id", client.string), ("kid", key.id.string), ("public_jwk", key.publicJWK)],
            orElse: .alreadyExists("key \(key.id) of client \(client), or the same key under another kid"))
    }

    /// Removes a key. Each broker refuses its signatures once it has reloaded.
    package func removeKey(
        _ id: ClientKeyID, of client: ClientID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.deleteKey, [.text(client.string), .text(id.string)], as: .clientKeyRemoved, act,
            details: [("client_id", client.string), ("kid", id.string)],
            orElse: .notFound("key \(id) of client \(client)"))
    }

    /// Uses the first free slot of two.
    private static let insertSecret = Statement(
        """
        INSERT INTO native_sso.client_secret (client_id, slot, digest)
        SELECT $1::text, place.slot, $2 FROM (VALUES (1::smallint), (2::smallint)) AS place (slot)
        WHERE NOT EXISTS (
            SELECT FROM native_sso.client_secret s WHERE s.client_id = $1 AND s.slot = place.slot)
        ORDER BY place.slot LIMIT 1
        ON CONFLICT (client_id, slot) DO NOTHING
        RETURNING 1
        """)
    private static let deleteSecret = Statement(
        "DELETE FROM native_sso.client_secret WHERE client_id = $1 AND digest = $2 RETURNING 1")
    private static let insertKey = Statement(
        """
        INSERT INTO native_sso.client_key (client_id, kid, public_jwk) VALUES ($1, $2, $3::text::jsonb)
        ON CONFLICT DO NOTHING RETURNING 1
        """)
    private static let deleteKey = Statement(
        "DELETE FROM native_sso.client_key WHERE client_id = $1 AND kid = $2 RETURNING 1")

    private static func details(_ client: ClientID, _ digest: ClientSecretDigest) -> [(String, String)] {
        [("client_id", client.string), ("secret", digest.label)]
    }
}
