import NativeSSO
import PostgresClient

/// The `client` and `scope` tables as values of the domain.
enum ClientStatements {
    /// Domains are cast to their base, so that arrays travel as arrays of text.
    static let all = Statement(
        """
        SELECT client_id::text, authentication, enabled, grants, allowed_scope::text[], default_scope::text[], audiences,
            access_token_seconds, refresh_token_seconds, issues_refresh_token, issues_id_token, includes_session_id,
            allows_self_exchange, accepted_acr, maximum_authentication_seconds, dpop
        FROM native_sso.client ORDER BY client_id
        """)

    static let scopesRequiringConsent = Statement(
        "SELECT name::text FROM native_sso.scope WHERE requires_consent ORDER BY name")

    static func client(_ row: Row) throws -> Client {
        guard let authentication = Client.Authentication(rawValue: try row.text(1)) else {
            throw CorruptRow(column: "authentication")
        }
        guard let proofPolicy = Client.ProofPolicy(rawValue: try row.text(15)) else { throw CorruptRow(column: "dpop") }
        return Client(
            id: try row.identifier(try row.text(0), "client_id"),
            authentication: authentication,
            isEnabled: try row.bool(2),
            grants: Set(
                try row.textArray(3).map { name in
                    guard let grant = Client.Grant(rawValue: name) else { throw CorruptRow(column: "grants") }
                    return grant
                }),
            allowedScope: Scope(try row.textArray(4)),
            defaultScope: Scope(try row.textArray(5)),
            audiences: try row.textArray(6),
            accessTokenLifetime: try row.optionalInt64(7).map { Seconds($0) },
            refreshTokenLifetime: try row.optionalInt64(8).map { Seconds($0) },
            issuesRefreshToken: try row.bool(9),
            issuesIDToken: try row.bool(10),
            includesSessionID: try row.bool(11),
            allowsSelfExchange: try row.bool(12),
            acceptedContextClasses: try row.textArray(13),
            maximumAuthenticationAge: try row.optionalInt64(14).map { Seconds($0) },
            proofPolicy: proofPolicy)
    }
}
