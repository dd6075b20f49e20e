public import NativeSSO
import PostgresClient

/// A secret of a client, by all that is kept of it.
public struct RegisteredSecret: Sendable, Hashable {
    public let client: ClientID
    public let digest: ClientSecretDigest
    public let createdAt: UnixTime
}

/// A public key of a client.
public struct RegisteredClientKey: Sendable, Hashable {
    public let client: ClientID
    public let key: ClientKey
    public let createdAt: UnixTime
}

/// The `client_secret` and `client_key` tables as values of the domain.
enum CredentialStatements {
    static let secrets = Statement(
        "SELECT client_id::text, digest, created_at FROM native_sso.client_secret ORDER BY client_id, created_at, slot")

    static let keys = Statement(
        """
        SELECT client_id::text, kid::text, public_jwk::text, created_at
        FROM native_sso.client_key ORDER BY client_id, created_at, kid
        """)

    static func secret(_ row: Row) throws -> RegisteredSecret {
        guard let digest = ClientSecretDigest(octets: try row.bytes(1)) else { throw CorruptRow(column: "digest") }
        return RegisteredSecret(
            client: try row.identifier(try row.text(0), "client_id"), digest: digest, createdAt: try row.instant(2))
    }

    static func key(_ row: Row) throws -> RegisteredClientKey {
        RegisteredClientKey(
            client: try row.identifier(try row.text(0), "client_id"),
            key: ClientKey(id: try row.identifier(try row.text(1), "kid"), publicJWK: try row.text(2)),
            createdAt: try row.instant(3))
    }
}
