package import NativeSSO
package import PostgresClient

/// Codes of hand-offs in PostgreSQL.
///
/// Uses the pool, not the lanes: a hand-off is rare, and it must not delay exchanges. A concurrency limit leaves connections
/// to the pool's other users.
package struct PostgresHandoffRegistry: HandoffRegistry {
    private let database: BoundedDatabase

    /// - Parameter atOnce: Maximum concurrent calls.
    package init(database: any StatementExecutor, atOnce: Int = 2) {
        self.database = BoundedDatabase(database, atOnce: atOnce, of: "hand-offs")
    }

    package func make(_ entry: HandoffEntry) async throws(PortError) -> HandoffFacts {
        let rows = try await database.query(HandoffStatements.make, HandoffStatements.parameters(entry))
        guard rows.count == 2 else { throw .broken("\(rows.count) rows from make_web_handoff") }
        return try PortError.decoding("make_web_handoff") {
            HandoffFacts(
                app: try ExchangeStatement.facts(rows[0]), web: try ExchangeStatement.facts(rows[1]),
                permission: try rows[0].optionalText("permission").map { try Membership.Handoff($0, "permission") },
                takesOrigin: try rows[0].bool("takes_origin"), isKept: try rows[0].bool("is_kept"))
        }
    }

    package func handoff(_ code: HandoffDigest) async throws(PortError) -> KeptHandoff? {
        var parameters = EncodedParameters()
        parameters.append(code.octets)
        let rows = try await database.query(HandoffStatements.find, parameters)
        return try PortError.decoding("web_handoff") { try rows.first.map(HandoffStatements.kept) }
    }

    package func redeem(_ redemption: HandoffRedemption) async throws(PortError) -> RedemptionFacts {
        let rows = try await database.query(HandoffStatements.redeem, HandoffStatements.parameters(redemption))
        return try rows.only(of: "redeem_web_handoff") { row in
            RedemptionFacts(
                standing: try RedemptionFacts.Standing(try row.text("standing"), "standing"),
                web: try ExchangeStatement.facts(row))
        }
    }
}

/// `native_sso.make_web_handoff`, `find_web_handoff` and `redeem_web_handoff`.
enum HandoffStatements {
    /// $1 to $26 the exchange of the app, $27 to $52 that of the web app. One row for each, the app's first.
    static let make = Statement(
        """
        SELECT a.*, m.permission, m.takes_origin, m.is_kept
        FROM native_sso.make_web_handoff(
            ROW (
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
                $25, $26)::native_sso.exchange_call,
            ROW (
                $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48,
                $49, $50, $51, $52)::native_sso.exchange_call,
            CASE WHEN $53::bytea IS NOT NULL OR $55::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $53, $54, $55, $56)::native_sso.shown] END,
            $57, $58, $59, $60, $61, $62, $63) AS m
        CROSS JOIN LATERAL unnest(m.answers) AS a ORDER BY a.place
        """)

    /// $1 digest of the code.
    static let find = Statement(
        """
        SELECT challenge, origin, client_id, audience, issuer, sid, subject, source_client_id, other_audience, auth_time,
            acr, amr, issued_at, token_expires_at, key_is_current, device_digest, profile, scope, claims
        FROM native_sso.find_web_handoff($1)
        """)

    /// $1 to $26 the exchange of the web app.
    static let redeem = Statement(
        """
        SELECT a.*, m.standing
        FROM native_sso.redeem_web_handoff(
            $31, $32, $33,
            ROW (
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
                $25, $26)::native_sso.exchange_call,
            CASE WHEN $27::bytea IS NOT NULL OR $29::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $27, $28, $29, $30)::native_sso.shown] END) AS m
        CROSS JOIN LATERAL unnest(m.answers) AS a
        """)

    static func parameters(_ entry: HandoffEntry) -> EncodedParameters {
        var parameters = ExchangeStatement.call(entry.app) + ExchangeStatement.call(entry.web)
        parameters.append(shown: entry.app.request.assertion, entry.app.request.proof)
        parameters.append(entry.code.octets)
        parameters.append(entry.challenge.digest)
        parameters.append(entry.origin.string)
        parameters.append(entry.app.request.issuer.issuer.string)
        parameters.append(entry.app.idToken.expiresAt)
        parameters.append(entry.app.idToken.isKeyCurrent)
        parameters.append(HandoffCode.life.count)
        return parameters
    }

    static func parameters(_ redemption: HandoffRedemption) -> EncodedParameters {
        var parameters = ExchangeStatement.parameters(redemption.web)
        parameters.append(redemption.code.octets)
        parameters.append(redemption.origin.string)
        parameters.append(redemption.challenge.digest)
        return parameters
    }

    static func kept(_ row: Row) throws -> KeptHandoff {
        let source: ClientID = try row.identifier("source_client_id")
        let others = try row.textArray("other_audience").map { try row.identifier($0, "other_audience") as ClientID }
        guard let device = DeviceDigest(octets: try row.bytes("device_digest")) else {
            throw CorruptRow(column: "device_digest")
        }
        return KeptHandoff(
            challenge: HandoffChallenge(digest: try row.bytes("challenge")),
            origin: try row.origin(try row.text("origin"), "origin"),
            client: try row.identifier("client_id"), audience: try row.identifier("audience"),
            idToken: IDTokenClaims(
                issuer: try row.identifier("issuer"), subject: try row.identifier("subject"), sessionID: nil,
                sourceClient: source, audience: [source] + others, issuedAt: try row.instant("issued_at"),
                expiresAt: try row.instant("token_expires_at"),
                login: Login(
                    authenticatedAt: try row.optionalInstant("auth_time"), contextClass: try row.optionalText("acr"),
                    methods: try row.textArray("amr")),
                hashFunction: .sha256, isKeyCurrent: try row.bool("key_is_current"),
                claims: try row.copiedClaims().object),
            sid: try row.bytes("sid"), device: device, profile: try Profile(try row.text("profile"), "profile"),
            scope: Scope(try row.textArray("scope")))
    }
}
