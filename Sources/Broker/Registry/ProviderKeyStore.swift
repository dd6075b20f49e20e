public import NativeSSO
public import PostgresClient

/// An entry that an identity provider's JWKS has shown: a key under one `kid` and for one algorithm.
public struct ProviderKeyRow: Sendable, Hashable {
    /// RFC 7638, base64url.
    public let thumbprint: String
    public let kid: String?
    /// `alg`; `nil`: whatever the key can do.
    public let algorithm: String?
    /// JSON.
    public let publicJWK: String
    public let firstSeenAt: UnixTime
    public let lastSeenAt: UnixTime
    /// base64url, 43 characters: by which the broker knows the rows that it made.
    public let tag: String
    /// When an operator said that it must verify nothing any more.
    public let revokedAt: UnixTime?

    public init(
        thumbprint: String, kid: String?, algorithm: String?, publicJWK: String, firstSeenAt: UnixTime,
        lastSeenAt: UnixTime, tag: String, revokedAt: UnixTime? = nil
    ) {
        self.thumbprint = thumbprint
        self.kid = kid
        self.algorithm = algorithm
        self.publicJWK = publicJWK
        self.firstSeenAt = firstSeenAt
        self.lastSeenAt = lastSeenAt
        self.tag = tag
        self.revokedAt = revokedAt
    }
}

/// The `idp_key` table: every key of every identity provider that was ever in use, since a subject token may be older than
/// the key set of today.
public struct ProviderKeyStore: Sendable {
    private let database: any StatementExecutor

    public init(database: any StatementExecutor) {
        self.database = database
    }

    public func keys(of issuer: Issuer) async throws(PortError) -> [ProviderKeyRow] {
        try await database.all(Self.select, [.text(issuer.string)], of: "idp_key") { row in
            ProviderKeyRow(
                thumbprint: try row.text(0), kid: try row.optionalText(1), algorithm: try row.optionalText(2),
                publicJWK: try row.text(3), firstSeenAt: try row.instant(4), lastSeenAt: try row.instant(5),
                tag: try row.text(6), revokedAt: try row.optionalInstant(7))
        }
    }

    /// Inserts or replaces `rows`, whose ``ProviderKeyRow/revokedAt`` says nothing here: a broker revokes no key, and
    /// changes none that is revoked. No two of them may be of the same entry.
    public func record(_ rows: [ProviderKeyRow], of issuer: Issuer) async throws(PortError) {
        let (first, last) = (try rows.microseconds(\.firstSeenAt), try rows.microseconds(\.lastSeenAt))
        _ = try await PortError.database { () async throws(PostgresError) in
            try await database.query(
                Self.insert,
                [
                    .text(issuer.string), .textArray(rows.map(\.thumbprint)), .textArray(rows.map { $0.kid ?? "" }),
                    .textArray(rows.map { $0.algorithm ?? "" }), .textArray(rows.map(\.publicJWK)),
                    .timestampArray(first), .timestampArray(last), .textArray(rows.map(\.tag)),
                ])
        }
    }

    static let statements = [select, insert]

    private static let select = Statement(
        """
        SELECT thumbprint, nullif(kid, ''), nullif(algorithm, ''), public_jwk::text, first_seen_at, last_seen_at, tag,
            revoked_at
        FROM native_sso.idp_key WHERE issuer = $1 ORDER BY first_seen_at, thumbprint, kid, algorithm
        """)
    private static let insert = Statement("SELECT native_sso.record_idp_keys($1, $2, $3, $4, $5, $6, $7, $8)")
}

extension [ProviderKeyRow] {
    fileprivate func microseconds(_ instant: KeyPath<ProviderKeyRow, UnixTime>) throws(PortError) -> [Int64] {
        var all: [Int64] = []
        for row in self {
            let (microseconds, overflow) = row[keyPath: instant].seconds.multipliedReportingOverflow(by: 1_000_000)
            guard !overflow else { throw .broken("the sighting of a key is no instant") }
            all.append(microseconds)
        }
        return all
    }
}

extension Administration {
    /// Every entry that the key set of `issuer` has ever shown, as the brokers recorded it.
    public func providerKeys(of issuer: Issuer) async throws(AdministrationError) -> [ProviderKeyRow] {
        do throws(PortError) {
            return try await ProviderKeyStore(database: pool).keys(of: issuer)
        } catch {
            throw .corrupt(column: "idp_key")
        }
    }

    /// From then on, and for good, no token by this key is accepted: whatever entries of the key set it stands in, and
    /// whether or not it is there now. In use on every broker within seconds.
    /// - Parameter thumbprint: RFC 7638, SHA-256, base64url.
    public func revokeProviderKey(
        _ thumbprint: String, of issuer: Issuer, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.revokeProviderKey, [.text(issuer.string), .text(thumbprint)], as: .idpKeyRevoked, act,
            details: [("issuer", issuer.string), ("thumbprint", thumbprint)],
            orElse: .notFound("this key, unrevoked,"))
    }

    /// $1 issuer, $2 thumbprint.
    static let revokeProviderKey = Statement(
        """
        UPDATE native_sso.idp_key SET revoked_at = date_trunc('second', now())
        WHERE issuer = $1 AND thumbprint = $2 AND revoked_at IS NULL RETURNING 1
        """)
}
