package import NativeSSO
import PostgresClient

extension Administration {
    /// When a broker last counted in the database, and a later event of the audit. If it is a restored one, what came later
    /// is missing.
    package func lastRecord() async throws(AdministrationError) -> UnixTime? {
        try await rows(DatabaseStatements.lastRecord) { try $0.optionalInstant(0) }.first ?? nil
    }

    /// Ends everything that began until now: sessions with their grants, codes, kept answers, and id_tokens by their
    /// `iat`, whether the database knows them or not. One row says so.
    /// - Parameter sameLoginMayReturn: Whether a later id_token of the same login may create a new session. Otherwise the
    ///   user must log in again at the IdP.
    package func endEverything(
        sameLoginMayReturn: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            DatabaseStatements.endEverything, [.bool(sameLoginMayReturn)], as: .everythingEnded, act,
            details: [("same_login_may_return", "\(sameLoginMayReturn)")],
            orElse: .notFound("the row of the table general_end"))
    }

    /// Lets running brokers count on in this database, although it is from an earlier moment.
    /// - Parameter endsSessions: Whether everything that began until now ends in the same transaction. A later id_token of
    ///   the same login may create a new session.
    package func acceptDatabase(
        endingSessions endsSessions: Bool, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            DatabaseStatements.accept, [.bool(endsSessions)], as: .databaseAccepted, act,
            details: [("sessions", endsSessions ? "end" : "keep")],
            orElse: .notFound("the row of the table database_acceptance"))
    }
}

private enum DatabaseStatements {
    static let lastRecord = Statement(
        """
        SELECT greatest(c.counted_at, (
            SELECT max(a.occurred_at) FROM native_sso.audit_event a
            WHERE a.occurred_at > greatest(c.counted_at, now() - interval '30 days')))
        FROM (SELECT max(counted_at) AS counted_at FROM native_sso.broker_count) AS c
        """)
    /// $1 whether the same login may return.
    static let endEverything = Statement(
        """
        UPDATE native_sso.general_end e
        SET began_until = greatest(e.began_until, n.now),
            login_until = CASE WHEN $1 THEN e.login_until ELSE greatest(e.login_until, n.now) END
        FROM (SELECT date_trunc('second', clock_timestamp()) AS now) AS n WHERE e.only_row RETURNING 1
        """)
    /// $1 whether everything ends.
    static let accept = Statement(
        """
        WITH ended AS (
            UPDATE native_sso.general_end e
            SET began_until = greatest(e.began_until, date_trunc('second', clock_timestamp())) WHERE e.only_row AND $1
        )
        UPDATE native_sso.database_acceptance a SET accepted_at = greatest(a.accepted_at, clock_timestamp())
        WHERE a.only_row RETURNING 1
        """)
}
