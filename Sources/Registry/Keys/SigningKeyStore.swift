public import NativeSSO
public import PostgresClient

/// A row of `signing_key`: which key there is and what it is for, never its private part.
public struct SigningKeyRow: Sendable, Hashable {
    public let kid: String
    /// `access-token`, `refresh-token` or `device`.
    public let use: String
    public let algorithm: String
    /// Where the provider finds the private part.
    public let reference: String
    /// JSON; `nil` for a key that has no public part.
    public let publicJWK: String?
    /// `pending`, `published`, `active`, `retired` or `removed`.
    public let state: String
    public let createdAt: UnixTime
    public let publishedAt: UnixTime?
    public let activatedAt: UnixTime?
    public let retiredAt: UnixTime?

    public init(
        kid: String, use: String, algorithm: String, reference: String, publicJWK: String?, state: String,
        createdAt: UnixTime, publishedAt: UnixTime? = nil, activatedAt: UnixTime? = nil, retiredAt: UnixTime? = nil
    ) {
        self.kid = kid
        self.use = use
        self.algorithm = algorithm
        self.reference = reference
        self.publicJWK = publicJWK
        self.state = state
        self.createdAt = createdAt
        self.publishedAt = publishedAt
        self.activatedAt = activatedAt
        self.retiredAt = retiredAt
    }
}

/// The `signing_key` table as the service reads it.
public struct SigningKeyStore: Sendable {
    private let database: any StatementExecutor

    public init(database: any StatementExecutor) {
        self.database = database
    }

    /// Every key that was not removed, oldest first.
    public func keys() async throws(PortError) -> [SigningKeyRow] {
        try await database.all(SigningKeyStatements.all, [], of: "signing_key", SigningKeyStatements.row)
    }
}

extension Administration {
    /// Registers a key that was just generated: active if nothing else is active for its use, otherwise published; or
    /// pending, known to nobody.
    ///
    /// One statement, so that an error means that the key is not registered, and its private part may be thrown away.
    /// - Returns: Its state.
    public func addKey(
        _ key: SigningKeyRow, isPending: Bool = false, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> String {
        try await change(
            SigningKeyStatements.insert,
            [
                .text(key.kid), .text(key.use), .text(key.algorithm), .text(key.reference),
                .optionalText(key.publicJWK), .bool(isPending),
            ], as: .keyAdded, act,
            details: { state in
                [("kid", key.kid), ("use", key.use), ("algorithm", key.algorithm), ("state", state)]
            },
            orElse: .alreadyExists("key \(key.kid)"),
            returning: { row throws(PostgresError) in try row.text(0) })
    }

    public func keys() async throws(AdministrationError) -> [SigningKeyRow] {
        try await rows(SigningKeyStatements.all, [], SigningKeyStatements.row)
    }
}

enum SigningKeyStatements {
    static let all = Statement(
        """
        SELECT kid::text, use, algorithm, reference, public_jwk::text, state, created_at, published_at, activated_at,
            retired_at
        FROM native_sso.signing_key WHERE state <> 'removed' ORDER BY created_at, kid
        """)

    /// $1 kid, $2 use, $3 algorithm, $4 reference, $5 public JWK, $6 whether it stays pending.
    static let insert = Statement(
        """
        INSERT INTO native_sso.signing_key (
            kid, use, algorithm, reference, public_jwk, state, created_at, published_at, activated_at)
        SELECT $1, $2, $3, $4, $5::text::jsonb,
            CASE WHEN $6 THEN 'pending' WHEN first THEN 'active' ELSE 'published' END, now(),
            CASE WHEN NOT $6 THEN now() END, CASE WHEN first AND NOT $6 THEN now() END
        FROM (SELECT NOT EXISTS (
            SELECT FROM native_sso.signing_key WHERE use = $2 AND state = 'active') AS first) AS state_of
        ON CONFLICT (kid) DO NOTHING
        RETURNING state
        """)

    static func row(_ row: Row) throws -> SigningKeyRow {
        SigningKeyRow(
            kid: try row.text(0), use: try row.text(1), algorithm: try row.text(2), reference: try row.text(3),
            publicJWK: try row.optionalText(4), state: try row.text(5), createdAt: try row.instant(6),
            publishedAt: try row.optionalInstant(7), activatedAt: try row.optionalInstant(8),
            retiredAt: try row.optionalInstant(9))
    }
}
