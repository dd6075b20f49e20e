import NativeSSO
import PostgresClient

/// `native_sso.advance`: parameters from an ``Rotation``, ``RotationFacts`` from its answer, the one value of type
/// `native_sso.advancement`.
enum AdvanceStatement {
    static let statement = Statement(
        "SELECT native_sso.advance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        gathering: gathering)

    /// Refreshes that show neither key nor assertion.
    private static let gathering = Gathering(
        "SELECT answer, place FROM native_sso.advance_batch($1)", of: "native_sso.advance_call",
        [
            .init(1, .uuid), .init(2, .int32), .init(3, .text), .init(4, .textArray), .init(5, .textArray),
            .init(7, .int64),
        ], withoutParameters: [10, 11, 12, 13])

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
            .textArray(asked.request.client.allowedScope.tokens),
            .int64(asked.grace.count),
            .int64(asked.lifetimes.sessionIdle.count),
            .int64(asked.lifetimes.refreshGrace.count),
            .bool(asked.keyUse == .changeable),
        ] + PostgresValue.proof(asked.request.proof) + PostgresValue.assertion(asked.request.assertion)
    }

    static func facts(_ answer: Row) throws -> RotationFacts {
        let row = try answer.record(0)
        guard let effect = RotationFacts.Effect(rawValue: try row.text(1)) else {
            throw CorruptRow(column: "effect")
        }
        return RotationFacts(
            now: try row.instant(0), effect: effect, proofWasUsed: try row.bool(23), assertionWasUsed: try row.bool(28),
            grant: try chain(row))
    }

    private static func chain(_ row: Row) throws -> ChainFacts? {
        guard let client = try row.optionalText(2) else { return nil }
        guard let session = try row.session(at: 13) else { throw CorruptRow(column: "session_id") }
        return ChainFacts(
            client: try row.identifier(client, "client_id"),
            generation: try row.int32(3),
            exchangedGeneration: try row.int32(25),
            wasSpent: try row.bool(26),
            rotatedAt: try row.instant(4),
            revokedAt: try row.optionalInstant(5),
            cameLate: try row.bool(27),
            expiresAt: try row.instant(6),
            scope: Scope(try row.textArray(7)),
            audiences: try row.textArray(8),
            sessionID: try row.identifier(try row.text(12), "sid"),
            session: session,
            login: Login(
                authenticatedAt: try row.optionalInstant(9), contextClass: try row.optionalText(10),
                methods: try row.textArray(11)),
            clientIsEnabled: try row.bool(18),
            sharesLogin: try row.bool(19),
            scopeCeiling: try row.optionalTextArray(20).map { Scope($0) },
            deviceIsBlocked: try row.bool(21),
            key: try row.optionalText(22).map { try row.identifier($0, "jkt") })
    }
}
