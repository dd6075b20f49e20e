package import NativeSSO
package import PostgresClient

/// Sessions created by enrolment, in PostgreSQL.
///
/// Uses the pool, not the lanes: an enrolment is rare and waits for concurrent changes of the same login, and it must
/// not delay exchanges. A concurrency limit leaves connections to the pool's other users.
package struct PostgresEnrolmentRegistry: EnrolmentRegistry {
    private let database: BoundedDatabase

    /// - Parameters:
    ///   - atOnce: Maximum concurrent enrolments.
    ///   - waiting: Maximum waiting enrolments. Further ones get an outage and must retry.
    package init(database: any StatementExecutor, atOnce: Int = 1, waiting: Int = 64) {
        self.database = BoundedDatabase(database, atOnce: atOnce, waiting: waiting, of: "enrolments")
    }

    package func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts {
        let parameters = EncodedParameters(try EnrolStatement.parameters(entry))
        return try await database.query(EnrolStatement.statement, parameters).only(of: "enrol", EnrolStatement.facts)
    }
}

/// `native_sso.enrol`: parameters from an ``EnrolmentEntry``, ``EnrolmentFacts`` from its row.
enum EnrolStatement {
    static let statement = Statement(
        """
        SELECT * FROM native_sso.enrol(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
        """)

    static func parameters(_ entry: EnrolmentEntry) throws(PortError) -> [PostgresValue] {
        let (request, idToken) = (entry.request, entry.idToken)
        return try [
            .uuid(request.requestID),
            .text(idToken.issuer.string),
            .optionalBytes(idToken.sessionID?.digest),
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
            .pastInstant(idToken.issuedAt),
            .text(request.manner.rawValue),
            .bool(request.client.isKnownByKey),
        ] + proof(entry) + PostgresValue.assertion(request.assertion)
            + [request.trace.map(PostgresValue.uuid) ?? .null]
    }

    /// The session gets the key even if another call consumes the proof.
    private static func proof(_ entry: EnrolmentEntry) -> [PostgresValue] {
        let proof = entry.request.proof
        guard let key = proof?.key, entry.unusedProof == nil else { return PostgresValue.proof(proof) }
        return [.text(key.string), .null, .null]
    }

    static func facts(_ row: Row) throws -> EnrolmentFacts {
        EnrolmentFacts(
            now: try row.instant("seen_at"),
            clientIsEnabled: try row.bool("client_enabled"),
            membership: try row.membership(group: "member_group", role: "member_role", ceiling: nil),
            deviceIsBlocked: try row.bool("device_blocked"),
            loginHasEnded: try row.bool("login_ended"),
            accountIsDisabled: try row.bool("account_disabled"),
            tokenIsUsed: try row.bool("token_used"),
            boundKey: try row.optionalIdentifier("pinned_jkt"),
            proofWasUsed: try row.bool("proof_used"),
            assertionWasUsed: try row.bool("assertion_used"),
            session: try session(row))
    }

    private static func session(_ row: Row) throws -> EnrolledSession? {
        guard try !row.isNull("session_id") else { return nil }
        return EnrolledSession(
            id: SessionID(of: try row.uniqueID("session_id")), expiresAt: try row.instant("expires_at"))
    }
}
