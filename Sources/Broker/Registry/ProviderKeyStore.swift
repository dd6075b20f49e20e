package import NativeSSO
package import PostgresClient

/// A key that an IdP's JWKS has contained, with one `kid` and algorithm.
package struct ProviderKeyRow: Sendable, Hashable {
    /// RFC 7638, SHA-256, base64url.
    package let thumbprint: String
    package let kid: String?
    /// `alg`; `nil`: all algorithms of the key type.
    package let algorithm: String?
    package let publicJWK: String
    package let firstSeenAt: UnixTime
    package let lastSeenAt: UnixTime
    /// base64url, 43 characters. It proves that a broker wrote the row.
    package let tag: String
    /// When an operator revoked the key; it verifies nothing from then on. A row that cannot be read counts as revoked.
    package let revokedAt: UnixTime?

    package init(
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

/// The table `idp_key`: every key that an IdP has ever used. A subject token may be older than the current key set.
package struct ProviderKeyStore: Sendable {
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) { self.database = database }

    package func keys(of issuer: Issuer) async throws(PortError) -> [ProviderKeyRow] {
        try await database.all(Self.select, [.text(issuer.string)], of: "idp_key", Self.row)
    }

    /// By issuer: a text that changes whenever a key is added, revoked or deleted. A new sighting of a key changes nothing.
    package func versions() async throws(PortError) -> [String: String] {
        let rows = try await database.all(Self.selectVersions, [], of: "idp_key") { row in
            (try row.text(0), try row.text(1))
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// Inserts or replaces `rows`, which must be distinct entries. Ignores ``ProviderKeyRow/revokedAt``: a broker
    /// neither revokes a key nor changes a revoked one.
    package func record(_ rows: [ProviderKeyRow], of issuer: Issuer) async throws(PortError) {
        let (first, last) = (try rows.microseconds(\.firstSeenAt), try rows.microseconds(\.lastSeenAt))
        _ = try await database.all(
            Self.insert,
            [
                .text(issuer.string), .textArray(rows.map(\.thumbprint)), .textArray(rows.map { $0.kid ?? "" }),
                .textArray(rows.map { $0.algorithm ?? "" }), .textArray(rows.map(\.publicJWK)),
                .timestampArray(first), .timestampArray(last), .textArray(rows.map(\.tag)),
            ], of: "idp_key"
        ) { _ in }
    }

    /// Of a row that cannot be read, the thumbprint is all that counts; empty: not even that can be read.
    fileprivate static func row(_ row: Row) -> ProviderKeyRow {
        let unknown = UnixTime(seconds: 0)
        return (try? whole(row))
            ?? ProviderKeyRow(
                thumbprint: (try? row.text(0)) ?? "", kid: nil, algorithm: nil, publicJWK: "", firstSeenAt: unknown,
                lastSeenAt: unknown, tag: "", revokedAt: unknown)
    }

    private static func whole(_ row: Row) throws -> ProviderKeyRow {
        ProviderKeyRow(
            thumbprint: try row.text(0), kid: try row.optionalText(1), algorithm: try row.optionalText(2),
            publicJWK: try row.text(3), firstSeenAt: try row.instant(4), lastSeenAt: try row.instant(5),
            tag: try row.text(6), revokedAt: try row.isNull(7) ? nil : row.sinceWhen(7))
    }

    fileprivate static let select = Statement(
        """
        SELECT thumbprint, nullif(kid, ''), nullif(algorithm, ''), public_jwk::text, first_seen_at, last_seen_at, tag,
            revoked_at
        FROM native_sso.idp_key WHERE issuer = $1 ORDER BY first_seen_at, thumbprint, kid, algorithm
        """)
    private static let selectVersions = Statement(
        """
        SELECT issuer, concat_ws(' ', count(*), max(first_seen_at), count(revoked_at), max(revoked_at))
        FROM native_sso.idp_key GROUP BY issuer
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
    /// Every entry that the key set of `issuer` has ever contained, as the brokers recorded it.
    package func providerKeys(of issuer: Issuer) async throws(AdministrationError) -> [ProviderKeyRow] {
        try await rows(ProviderKeyStore.select, [.text(issuer.string)], ProviderKeyStore.row)
    }

    /// Revokes a key permanently, in all entries of the key set, present or not. No token signed by it is accepted.
    /// Takes effect on every broker within seconds.
    /// - Parameter thumbprint: RFC 7638, SHA-256, base64url.
    package func revokeProviderKey(
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
