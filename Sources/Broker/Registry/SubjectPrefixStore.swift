package import NativeSSO
package import PostgresClient

/// The table `subject_prefix`: how the broker has named the users of each IdP. APIs know users by these names.
package struct SubjectPrefixStore: Sendable {
    private let database: any StatementExecutor

    package init(database: any StatementExecutor) { self.database = database }

    /// The prefix of each IdP that has had sessions, configured or not; empty: no prefix.
    package func inUse() async throws(PortError) -> [Issuer: String] {
        let rows = try await database.all(Self.selectInUse, [], of: "subject_prefix") { row in
            (Issuer(validated: try row.text(0)), try row.text(1))
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// Records the prefix of each IdP. A prefix in use stays.
    package func record(_ prefixes: [Issuer: String]) async throws(PortError) {
        let all = prefixes.sorted { $0.key.string < $1.key.string }
        let parameters: [PostgresValue] = [.textArray(all.map(\.key.string)), .textArray(all.map(\.value))]
        _ = try await database.all(Self.insert, parameters, of: "subject_prefix") { _ in }
    }

    fileprivate static let selectInUse = Statement(
        "SELECT issuer, prefix FROM native_sso.subject_prefixes_in_use() ORDER BY issuer")
    private static let insert = Statement("SELECT native_sso.record_subject_prefixes($1, $2)")
}

package struct DatabaseRole: Sendable, Hashable {
    package let name: String
    package let isSuperuser: Bool
    /// Whether it may change everything: sessions, the audit, the schema.
    package let ownsRegistry: Bool
    /// What else it may do than a member of `native_sso_broker`, such as `may replicate`. Empty for a superuser.
    package let surplus: [String]

    package static func current(in database: any StatementExecutor) async throws(PortError) -> DatabaseRole {
        let rows = try await database.all(select, [], of: "pg_roles") { row in
            DatabaseRole(
                name: try row.text(0), isSuperuser: try row.bool(1), ownsRegistry: try row.bool(2),
                surplus: try row.textArray(3))
        }
        guard let role = rows.first else { throw .broken("the database does not know its own user") }
        return role
    }

    static let select = Statement(
        """
        SELECT r.rolname::text, r.rolsuper, r.rolsuper OR EXISTS (
            SELECT FROM pg_catalog.pg_namespace n
            WHERE n.nspname = 'native_sso' AND pg_has_role(r.oid, n.nspowner, 'MEMBER')),
            CASE WHEN r.rolsuper THEN '{}' ELSE array_remove(ARRAY[
                CASE WHEN r.rolcreaterole THEN 'may make roles' END,
                CASE WHEN r.rolcreatedb THEN 'may make databases' END,
                CASE WHEN r.rolreplication THEN 'may replicate' END,
                CASE WHEN r.rolbypassrls THEN 'bypasses row security' END], NULL)
                || ARRAY(
                    SELECT 'is a member of ' || g.rolname FROM pg_catalog.pg_roles g
                    WHERE g.oid <> r.oid AND g.rolname <> 'native_sso_broker' AND pg_has_role(r.oid, g.oid, 'MEMBER')
                    ORDER BY g.rolname) END
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
        """)
}

extension Administration {
    /// The prefix of each IdP that has had sessions.
    package func subjectPrefixes() async throws(AdministrationError) -> [(issuer: Issuer, prefix: String)] {
        try await rows(SubjectPrefixStore.selectInUse, []) { row in
            (issuer: Issuer(validated: try row.text(0)), prefix: try row.text(1))
        }
    }

    /// Forgets how the broker named the users of an IdP. The next start of a broker records the prefix anew.
    package func forgetSubjectPrefix(of issuer: Issuer, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(
            Self.deleteSubjectPrefix, [.text(issuer.string)], as: .subjectPrefixForgotten, act,
            details: [("issuer", issuer.string)], orElse: .notFound("a subject prefix of \(issuer)"))
    }

    static let deleteSubjectPrefix = Statement("DELETE FROM native_sso.subject_prefix WHERE issuer = $1 RETURNING 1")
}
