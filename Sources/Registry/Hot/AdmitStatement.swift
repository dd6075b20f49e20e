import NativeSSO
import PostgresClient

/// `native_sso.admit`: parameters from an ``Admission``, ``AdmissionFacts`` from its answer, the one value of type
/// `native_sso.admission`. One value, because the server describes, makes and sends every column of a row apart.
enum AdmitStatement {
    static let statement = Statement(
        """
        SELECT native_sso.admit(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
            $25, $26, $27, $28)
        """, gathering: gathering)

    /// Exchanges that show neither key nor assertion, of logins that are known: what only a new one needs is left out.
    private static let gathering = Gathering(
        "SELECT answer, place FROM native_sso.admit_batch($1)", of: "native_sso.admit_call",
        [
            .init(0, .uuid), .init(1, .text), .init(2, .text), .init(3, .text), .init(4, .text), .init(5, .textArray),
            .init(6, .text), .init(7, .bool), .init(8, .bytes), .init(10, .textArray), .init(11, .textArray),
            .init(12, .timestamp), .init(13, .text), .init(14, .textArray), .init(15, .int64), .init(16, .int64),
            .init(18, .bool), .init(19, .uuid), .init(21, .bool),
        ], withoutParameters: [22, 23, 24, 26])

    /// The device, which stands for all that is locked: its own row where it is new, its sessions, and their grants.
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
            .text(client.id.string),
            .bool(client.allowsSelfExchange),
            .bytes(admission.device.octets),
            .text(request.profile.rawValue),
            .textArray(checks.scope.tokens),
            .textArray(client.audiences),
            .instant(login.authenticatedAt),
            .optionalText(login.contextClass),
            .textArray(login.methods),
            .int64(checks.idleLimit.count),
            .optionalInt64(checks.grantLifetime?.count),
            .optionalInt64(admission.firstSightLifetime?.count),
            .bool(checks.isPermitted),
            .uuid(admission.proposedGrantID),
            .uuid(admission.proposedSessionRowID),
            .bool(client.isKnownByKey),
        ] + PostgresValue.proof(request.proof) + [.pastInstant(idToken.issuedAt)]
            + PostgresValue.assertion(request.assertion)
    }

    static func facts(_ answer: Row) throws -> AdmissionFacts {
        let row = try answer.record(0)
        return AdmissionFacts(
            now: try row.instant(0),
            clientIsEnabled: try row.bool(1),
            source: try row.membership(group: 2, role: 3, ceiling: nil),
            target: try row.membership(group: 4, role: 5, ceiling: 6),
            otherAudienceInGroup: try row.bool(7),
            session: try row.session(at: 8),
            deviceIsBlocked: try row.bool(13),
            boundKey: try row.optionalText(17).map { try row.identifier($0, "pinned_jkt") },
            proofWasUsed: try row.bool(18),
            assertionWasUsed: try row.bool(20),
            needsLaterLogin: try row.bool(19),
            grant: try row.grant(id: 14, generation: 15, expiresAt: 16))
    }
}
