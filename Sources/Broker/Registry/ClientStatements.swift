package import NativeSSO
import PostgresClient

/// Maps the tables `client` and `scope` to domain values.
enum ClientStatements {
    /// Casts domains to their base types, so that arrays arrive as text arrays.
    static let all = Statement(
        """
        SELECT client_id::text, authentication, enabled, grants, allowed_scope::text[], default_scope::text[], audiences,
            access_token_seconds, refresh_token_seconds, issues_refresh_token, issues_id_token,
            allows_self_exchange, accepted_acr, maximum_authentication_seconds, dpop, copied_claims::text[],
            assertion_audience, assertion_seconds, introspects, access_token_algorithm, id_token_algorithm
        FROM native_sso.client ORDER BY client_id
        """)

    /// A client is in one group of an issuer at most.
    static let providers = Statement("SELECT client_id::text, issuer::text FROM native_sso.sharing_group_member")

    static func provider(_ row: Row) throws -> Issuer { try row.identifier(try row.text(1), "issuer") }

    static let scopesRequiringConsent = Statement(
        "SELECT name::text FROM native_sso.scope WHERE requires_consent ORDER BY name")

    static func scope(_ row: Row) throws -> String { try row.text(0) }

    /// The client that a row belongs to, of each statement about clients.
    static func id(_ row: Row) throws -> ClientID { try row.identifier(try row.text(0), "client_id") }

    static func client(_ row: Row) throws -> Client {
        Client(
            id: try id(row),
            authentication: try Client.Authentication(try row.text(1), "authentication"),
            isEnabled: try row.bool(2),
            grants: Set(try row.textArray(3).map { try Client.Grant($0, "grants") }),
            allowedScope: Scope(try row.textArray(4)),
            defaultScope: Scope(try row.textArray(5)),
            audiences: try row.textArray(6),
            accessTokenLifetime: try row.optionalInt64(7).map { Seconds($0) },
            refreshTokenLifetime: try row.optionalInt64(8).map { Seconds($0) },
            issuesRefreshToken: try row.bool(9),
            issuesIDToken: try row.bool(10),
            allowsSelfExchange: try row.bool(11),
            acceptedContextClasses: try row.textArray(12),
            maximumAuthenticationAge: try row.optionalInt64(13).map { Seconds($0) },
            proofPolicy: try Client.ProofPolicy(try row.text(14), "dpop"),
            copiedClaims: try row.textArray(15),
            assertionAudience: try Client.AssertionAudience(try row.text(16), "assertion_audience"),
            assertionLifetime: Seconds(try row.int64(17)),
            introspects: try row.textArray(18),
            accessTokenAlgorithm: try row.optionalText(19).map { try KeyAlgorithm($0, "access_token_algorithm") },
            idTokenAlgorithm: try row.optionalText(20).map { try KeyAlgorithm($0, "id_token_algorithm") })
    }
}

/// The stored digest of a client secret.
package struct RegisteredSecret: Sendable, Hashable {
    package let client: ClientID
    package let digest: ClientSecretDigest
    package let createdAt: UnixTime
}

package struct RegisteredClientKey: Sendable, Hashable {
    package let client: ClientID
    package let key: ClientKey
    package let createdAt: UnixTime
}

/// Maps the tables `client_secret` and `client_key` to domain values.
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
            client: try ClientStatements.id(row), digest: digest, createdAt: try row.instant(2))
    }

    static func key(_ row: Row) throws -> RegisteredClientKey {
        RegisteredClientKey(
            client: try ClientStatements.id(row),
            key: ClientKey(id: try row.identifier(try row.text(1), "kid"), publicJWK: try row.text(2)),
            createdAt: try row.instant(3))
    }
}
