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
        try await database.query(EnrolStatement.statement, EnrolStatement.parameters(entry))
            .only(of: "enrol", EnrolStatement.facts)
    }
}

/// `native_sso.enrol`: parameters from an ``EnrolmentEntry``, ``EnrolmentFacts`` from its row.
enum EnrolStatement {
    static let statement = Statement(
        """
        SELECT * FROM native_sso.enrol(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
        """)

    static func parameters(_ entry: EnrolmentEntry) -> EncodedParameters {
        let (request, idToken) = (entry.request, entry.idToken)
        var parameters = EncodedParameters()
        parameters.append(request.requestID)
        parameters.append(idToken.issuer.string)
        parameters.append(idToken.sessionID?.digest)
        parameters.append(idToken.subject.string)
        parameters.append(request.client.id.string)
        parameters.append(entry.device.octets)
        parameters.append(request.profile.rawValue)
        parameters.append(entry.token.octets)
        parameters.append(past: entry.tokenUsableUntil)
        parameters.append(idToken.login.authenticatedAt)
        parameters.append(idToken.login.contextClass)
        parameters.append(idToken.login.methods)
        parameters.append(request.issuer.sessionLifetime.count)
        parameters.append(entry.checks.isPermitted)
        parameters.append(entry.proposedRowID)
        parameters.append(past: idToken.issuedAt)
        parameters.append(request.manner.rawValue)
        parameters.append(request.client.isKnownByKey)
        // The session gets the key even if another call consumes the proof.
        parameters.append(request.proof?.key.string)
        parameters.append(entry.unusedProof?.id.digest)
        parameters.append(entry.unusedProof?.life.count)
        parameters.append(request.assertion?.id.digest)
        parameters.append(request.assertion?.until)
        parameters.append(request.trace)
        return parameters
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
            session: try row.isNull("session_id")
                ? nil
                : EnrolledSession(
                    id: SessionID(of: try row.uniqueID("session_id")), expiresAt: try row.instant("expires_at")))
    }
}
