import NativeSSO
import PostgresClient

/// `native_sso.enrol`: parameters from an ``EnrolmentEntry``, ``EnrolmentFacts`` from its row.
enum EnrolStatement {
    static let statement = Statement(
        """
        SELECT seen_at, client_enabled, member_group, member_role, device_blocked, login_ended, token_used, sid, expires_at,
            pinned_jkt, proof_used, assertion_used
        FROM native_sso.enrol(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
        """)

    static func parameters(_ entry: EnrolmentEntry) throws(PortError) -> [PostgresValue] {
        let (request, idToken) = (entry.request, entry.idToken)
        return try [
            .uuid(request.requestID),
            .text(idToken.issuer.string),
            .optionalText(idToken.sessionID?.string),
            .text(idToken.subject.string),
            .text(request.client.id.string),
            .bytes(entry.device.octets),
            .text(request.profile.rawValue),
            .bytes(entry.token.octets),
            .pastInstant(entry.tokenUsableUntil),
            .instant(idToken.login.authenticatedAt),
            .optionalText(idToken.login.contextClass),
            .textArray(idToken.login.methods),
            .int64(request.issuer.sessionLifetime.count),
            .bool(entry.checks.isPermitted),
            .uuid(entry.proposedRowID),
            .text(entry.proposedSessionID.string),
            .pastInstant(idToken.issuedAt),
            .text(request.manner.rawValue),
            .bool(request.client.isKnownByKey),
        ] + proof(entry) + PostgresValue.assertion(request.assertion)
    }

    /// The key counts for the session, whoever uses the proof up.
    private static func proof(_ entry: EnrolmentEntry) -> [PostgresValue] {
        let proof = entry.request.proof
        guard let key = proof?.key, entry.unusedProof == nil else { return PostgresValue.proof(proof) }
        return [.text(key.string), .null, .null]
    }

    static func facts(_ row: Row) throws -> EnrolmentFacts {
        EnrolmentFacts(
            now: try row.instant(0),
            clientIsEnabled: try row.bool(1),
            membership: try row.membership(group: 2, role: 3, ceiling: nil),
            deviceIsBlocked: try row.bool(4),
            loginHasEnded: try row.bool(5),
            tokenIsUsed: try row.bool(6),
            boundKey: try row.optionalText(9).map { try row.identifier($0, "pinned_jkt") },
            proofWasUsed: try row.bool(10),
            assertionWasUsed: try row.bool(11),
            session: try session(row))
    }

    private static func session(_ row: Row) throws -> EnrolledSession? {
        guard let sid = try row.optionalText(7) else { return nil }
        return EnrolledSession(id: try row.identifier(sid, "sid"), expiresAt: try row.instant(8))
    }
}
