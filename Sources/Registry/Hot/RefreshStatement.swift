import NativeSSO
import PostgresClient

/// `native_sso.refresh`: parameters from a ``Rotation``, ``RotationFacts`` from its answer.
enum RefreshStatement {
    static let statement = Statement(
        """
        SELECT a, a.place FROM unnest(native_sso.refresh(
            ARRAY[ROW ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)::native_sso.refresh_call],
            CASE WHEN $12::bytea IS NOT NULL OR $14::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $12, $13, $14, $15)::native_sso.shown] END)) AS a
        """, gathering: gathering)

    /// Refreshes that show neither proof nor assertion.
    private static let gathering = Gathering(
        "SELECT a, a.place FROM unnest(native_sso.refresh($1)) AS a", of: "native_sso.refresh_call",
        [
            .init(0, .uuid), .init(1, .uuid), .init(2, .int32), .init(3, .text), .init(4, .textArray), .init(5, .text),
            .init(6, .textArray), .init(7, .bool), .init(8, .int64), .init(9, .int64), .init(10, .int64),
        ], withoutParameters: [11, 13])

    /// The grant. Nothing in a refresh tells its device, so that an exchange and a refresh of the same two devices, both in
    /// the same moment, may each lock what the other wants: then one batch gives up after its lock timeout and runs anew.
    static func row(_ asked: Rotation) -> RowKey { RowKey(asked.token.grantID.octets) }

    static func parameters(_ asked: Rotation) throws(PortError) -> [PostgresValue] {
        try [
            .uuid(asked.request.requestID),
            .uuid(asked.token.grantID),
            .int32(asked.token.generation),
            .text(asked.request.client.id.string),
            asked.scope.map { .textArray($0.tokens) } ?? .null,
            .optionalText(asked.request.proof?.key.string),
            .textArray(asked.request.client.allowedScope.tokens),
            .bool(asked.keyUse == .changeable),
            .int64(asked.grace.count),
            .int64(asked.lifetimes.refreshGrace.count),
            .int64(asked.lifetimes.sessionIdle.count),
        ] + PostgresValue.shown(asked.request.assertion, asked.request.proof)
    }

    static func facts(_ answer: Row) throws -> RotationFacts {
        let row = try answer.record(0)
        guard let effect = RotationFacts.Effect(rawValue: try row.text(4)) else {
            throw CorruptRow(column: "effect")
        }
        return RotationFacts(
            now: try row.instant(1), effect: effect, proofWasUsed: try row.bool(3), assertionWasUsed: try row.bool(2),
            grant: try chain(row))
    }

    private static func chain(_ row: Row) throws -> ChainFacts? {
        guard let client = try row.optionalText(5) else { return nil }
        guard let session = try row.session(at: 21) else { throw CorruptRow(column: "session_id") }
        return ChainFacts(
            client: try row.identifier(client, "client"),
            generation: try row.int32(6),
            exchangedGeneration: try row.int32(7),
            keylessBefore: try row.int32(8),
            wasSpent: try row.bool(9),
            rotatedAt: try row.instant(10),
            revokedAt: try row.optionalInstant(11),
            cameLate: try row.bool(12),
            expiresAt: try row.instant(13),
            scope: Scope(try row.textArray(15)),
            audiences: try row.textArray(16),
            sessionID: try row.identifier(try row.text(20), "sid"),
            session: session,
            login: Login(
                authenticatedAt: try row.optionalInstant(17), contextClass: try row.optionalText(18),
                methods: try row.textArray(19)),
            clientIsEnabled: try row.bool(26),
            sharesLogin: try row.bool(27),
            scopeCeiling: try row.optionalTextArray(28).map { Scope($0) },
            deviceIsBlocked: try row.bool(29),
            key: try row.optionalText(14).map { try row.identifier($0, "jkt") })
    }
}
