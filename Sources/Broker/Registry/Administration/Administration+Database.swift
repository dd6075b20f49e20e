import NativeSSO
package import PostgresClient

extension Administration {
    /// The PostgreSQL cluster that holds the database, and the one that brokers know it from.
    package func databaseIdentity() async throws(AdministrationError) -> DatabaseIdentity {
        let found = try await rows(DatabaseStatements.identity) { try DatabaseIdentity($0) }
        guard let identity = found.first else { throw .notFound("the first row of the table database_acceptance") }
        return identity
    }

    /// Lets running brokers go on with this cluster after a `pg_upgrade` or a restore.
    /// - Returns: What was accepted.
    @discardableResult
    package func acceptDatabase(_ act: AdministrativeAct) async throws(AdministrationError) -> DatabaseIdentity {
        let acceptance = Change(
            DatabaseStatements.accept, [], as: .databaseAccepted,
            details: { [("system_identifier", "\($0.present)"), ("replaced_system", "\($0.recorded)")] },
            orElse: .notFound("the first row of the table database_acceptance")
        ) { row throws(PostgresError) in try DatabaseIdentity(row) }
        return try await change(acceptance, act)
    }
}

/// System identifiers of PostgreSQL clusters (`pg_control_system()`): initdb chooses a new one each time.
package struct DatabaseIdentity: Sendable, Hashable {
    /// Of the cluster that answered.
    package let present: Int64
    /// Of the cluster that was accepted last; brokers know this one.
    package let recorded: Int64

    fileprivate init(_ row: Row) throws(PostgresError) {
        present = try row.int64(0)
        recorded = try row.int64(1)
    }
}

package enum DatabaseStatements {
    /// $1 the system identifier that a broker knows. For ``DatabaseHistory``.
    package static let acceptances = Statement(
        """
        SELECT coalesce((extract(epoch FROM max(accepted_at)) * 1000000)::bigint, 0),
            coalesce((extract(epoch FROM max(accepted_at) FILTER (WHERE replaced_system = $1::bigint
                AND system_identifier = (SELECT c.system_identifier FROM pg_control_system() c))) * 1000000)::bigint, 0)
        FROM native_sso.database_acceptance
        """)
    static let identity = Statement(
        """
        SELECT c.system_identifier, a.system_identifier FROM native_sso.database_acceptance a, pg_control_system() c
        ORDER BY a.accepted_at DESC LIMIT 1
        """)
    static let accept = Statement(
        """
        INSERT INTO native_sso.database_acceptance (accepted_at, system_identifier, replaced_system)
        SELECT clock_timestamp(), c.system_identifier, a.system_identifier
        FROM native_sso.database_acceptance a, pg_control_system() c
        ORDER BY a.accepted_at DESC LIMIT 1
        RETURNING system_identifier, replaced_system
        """)
}
