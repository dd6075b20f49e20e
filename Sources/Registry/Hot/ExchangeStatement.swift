import NativeSSO
import PostgresClient

/// `native_sso.exchange`: parameters from an ``Admission``, ``AdmissionFacts`` from its answer.
enum ExchangeStatement {
    static let statement = Statement(
        """
        SELECT a, a.place FROM unnest(native_sso.exchange(
            ARRAY[ROW (
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24
                )::native_sso.exchange_call],
            CASE WHEN $25::bytea IS NOT NULL OR $27::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $25, $26, $27, $28)::native_sso.shown] END)) AS a
        """, gathering: gathering)

    /// Exchanges that show neither proof nor assertion.
    private static let gathering = Gathering(
        "SELECT a, a.place FROM unnest(native_sso.exchange($1)) AS a", of: "native_sso.exchange_call",
        [
            .init(0, .uuid), .init(1, .text), .init(2, .text), .init(3, .text), .init(4, .text), .init(5, .textArray),
            .init(6, .timestamp), .init(7, .text), .init(8, .textArray), .init(9, .timestamp), .init(10, .text),
            .init(11, .bool), .init(12, .bytes), .init(13, .text), .init(14, .textArray), .init(15, .textArray),
            .init(16, .text), .init(17, .bool), .init(18, .bool), .init(19, .int64), .init(20, .int64),
            .init(21, .int64), .init(22, .uuid), .init(23, .uuid),
        ], withoutParameters: [24, 26])

    /// The device, which stands for all that is locked: its sessions, and their grants.
    static func row(_ admission: Admission) -> RowKey { RowKey(admission.device.octets) }

    static func parameters(_ admission: Admission) throws(PortError) -> [PostgresValue] {
        let (request, idToken, checks) = (admission.request, admission.idToken, admission.checks)
        let (client, login) = (request.client, idToken.login)
        return try [
            .uuid(request.requestID),
            .text(idToken.issuer.string),
            .text(admission.sessionID.string),
            .text(idToken.subject.string),
            .text(idToken.sourceClient.string),
            .textArray(admission.otherAudience.map(\.string)),
            .instant(login.authenticatedAt),
            .optionalText(login.contextClass),
            .textArray(login.methods),
            .pastInstant(idToken.issuedAt),
            .text(client.id.string),
            .bool(client.allowsSelfExchange),
            .bytes(admission.device.octets),
            .text(request.profile.rawValue),
            .textArray(checks.scope.tokens),
            .textArray(client.audiences),
            .optionalText(request.proof?.key.string),
            .bool(client.isKnownByKey),
            .bool(checks.isPermitted),
            .int64(checks.idleLimit.count),
            .optionalInt64(checks.grantLifetime?.count),
            .optionalInt64(admission.firstSightLifetime?.count),
            .uuid(admission.proposedGrantID),
            .uuid(admission.proposedSessionRowID),
        ] + PostgresValue.shown(request.assertion, request.proof)
    }

    static func facts(_ answer: Row) throws -> AdmissionFacts {
        let row = try answer.record(0)
        return AdmissionFacts(
            now: try row.instant(1),
            clientIsEnabled: try row.bool(4),
            source: try row.membership(group: 5, role: 6, ceiling: nil),
            target: try row.membership(group: 7, role: 8, ceiling: 9),
            otherAudienceInGroup: try row.bool(10),
            session: try row.session(at: 11, limitsAt: 16),
            deviceIsBlocked: try row.bool(19),
            boundKey: try row.optionalText(20).map { try row.identifier($0, "pinned_jkt") },
            proofWasUsed: try row.bool(3),
            assertionWasUsed: try row.bool(2),
            needsLaterLogin: try row.bool(21),
            grant: try row.grant(id: 22, generation: 23, expiresAt: 24))
    }
}
