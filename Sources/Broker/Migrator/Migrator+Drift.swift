import Migrations
import PostgresClient

/// Something in the schema that is not as the migrations make it.
package struct SchemaDrift: Sendable, Hashable {
    /// Such as `index native_sso.session_name`.
    package let object: String
    /// `nil`: the migrations make no such object.
    package let expected: String?
    /// `nil`: the database has none.
    package let found: String?
}

extension Migrator {
    /// Compares schema, functions, triggers, roles and grants with what the files make on this very server.
    ///
    /// It makes the schema anew beside the present one, in a transaction that it rolls back. The present schema has another
    /// name in that transaction; others do not see it, and none of its tables is locked. Every file must be applied.
    package func drift() async throws(MigratorError) -> [SchemaDrift] {
        try await verify()
        return try await withPool { pool throws(MigratorError) in
            do throws(PostgresError) {
                return try await pool.withTransaction(deadline: .seconds(60)) { transaction throws(PostgresError) in
                    let found = try Self.catalog(transaction)
                    try transaction.executeScript(DriftSQL.putAside)
                    try transaction.executeScript(MigratorSQL.createTable)
                    for migration in migrations { try transaction.executeScript(migration.sql) }
                    let expected = try Self.catalog(transaction)
                    var drift = try transaction.query(DriftSQL.roles).map { row throws(PostgresError) in
                        SchemaDrift(
                            object: try row.text(0), expected: "no login and no privilege in the cluster",
                            found: try row.text(1))
                    }
                    // The transaction that follows is empty.
                    try transaction.executeScript(Array("ROLLBACK AND CHAIN".utf8))
                    for object in Set(expected.keys).union(found.keys).sorted()
                    where expected[object] != found[object] {
                        drift.append(
                            SchemaDrift(object: object, expected: expected[object], found: found[object]))
                    }
                    return drift
                }
            } catch {
                throw .failed(file: "the comparison with a schema made anew", error)
            }
        }
    }

    private static func catalog(_ transaction: borrowing Transaction) throws(PostgresError) -> [String: String] {
        // So that every name is written with its schema.
        try transaction.executeScript(Array("SET LOCAL search_path = pg_catalog".utf8))
        var catalog: [String: String] = [:]
        for row in try transaction.query(DriftSQL.catalog) { catalog[try row.text(0)] = try row.text(1) }
        return catalog
    }
}

private enum DriftSQL {
    static let putAside = Array("ALTER SCHEMA native_sso RENAME TO native_sso_compared".utf8)

    /// Object and definition. The months of the audit come and go: of them only grants, and triggers that are off.
    static let catalog = Statement(
        """
        WITH ns AS (SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = 'native_sso'),
        month AS (
            SELECT c.oid FROM pg_class c, ns
            WHERE c.relnamespace = ns.oid AND c.relispartition AND c.relname <> 'audit_event_default'
        ), rel AS (
            SELECT c.oid, c.relname, c.relkind, c.relowner, c.relacl, c.reloptions, c.relpersistence, c.relrowsecurity
            FROM pg_class c, ns WHERE c.relnamespace = ns.oid AND c.relkind IN ('r', 'p', 'v', 'S', 'c')
                AND c.oid NOT IN (SELECT oid FROM month)
        )
        SELECT 'relation ' || relname, concat_ws(' ', relkind, 'owner', pg_get_userbyid(relowner), relpersistence,
            reloptions::text, relrowsecurity::text, CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) END)
        FROM rel
        UNION ALL
        SELECT 'column ' || r.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attnotnull THEN 'not null' END, pg_get_expr(d.adbin, d.adrelid), nullif(a.attidentity, ''),
            nullif(a.attgenerated, ''), (SELECT l.collname FROM pg_collation l WHERE l.oid = a.attcollation))
        FROM rel r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE r.relkind <> 'S'
        UNION ALL
        SELECT 'constraint ' || k.conname || ' of ' || coalesce(r.relname, format_type(k.contypid, NULL)),
            concat_ws(' ', pg_get_constraintdef(k.oid), CASE WHEN NOT k.convalidated THEN 'not validated' END)
        FROM pg_constraint k LEFT JOIN rel r ON r.oid = k.conrelid, ns
        WHERE k.connamespace = ns.oid AND k.contype <> 'n' AND (r.oid IS NOT NULL OR k.contypid <> 0)
        UNION ALL
        SELECT 'index ' || i.relname, concat_ws(' ', pg_get_indexdef(i.oid), CASE WHEN NOT x.indisvalid THEN 'invalid' END)
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN rel r ON r.oid = x.indrelid
        WHERE NOT i.relispartition
        UNION ALL
        SELECT 'trigger ' || t.tgname || ' of ' || r.relname, concat_ws(' ', pg_get_triggerdef(t.oid), 'enabled', t.tgenabled)
        FROM pg_trigger t JOIN rel r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
        UNION ALL
        SELECT 'trigger ' || t.tgname || ' of ' || c.relname, 'off'
        FROM pg_trigger t JOIN month m ON m.oid = t.tgrelid JOIN pg_class c ON c.oid = m.oid
        WHERE NOT t.tgisinternal AND t.tgenabled <> 'O'
        UNION ALL
        SELECT 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
            concat_ws(' ', 'owner', pg_get_userbyid(p.proowner), 'definition', md5(pg_get_functiondef(p.oid)))
        FROM pg_proc p, ns WHERE p.pronamespace = ns.oid AND p.prokind IN ('f', 'p')
        UNION ALL
        SELECT 'domain ' || t.typname, concat_ws(' ', format_type(t.typbasetype, t.typtypmod), 'owner',
            pg_get_userbyid(t.typowner), CASE WHEN t.typnotnull THEN 'not null' END, t.typdefault)
        FROM pg_type t, ns WHERE t.typnamespace = ns.oid AND t.typtype = 'd'
        UNION ALL
        SELECT 'grant of ' || g.privilege || ' on ' || g.object || ' to ' || CASE WHEN g.grantee = 0 THEN 'PUBLIC'
            ELSE pg_get_userbyid(g.grantee) END, CASE WHEN bool_or(g.grantable) THEN 'with grant option' ELSE 'granted' END
        FROM (
            SELECT 'schema native_sso' AS object, n.nspowner AS owner, a.grantee, a.privilege_type AS privilege,
                a.is_grantable AS grantable
            FROM ns n, aclexplode(n.nspacl) a
            UNION ALL
            SELECT c.relname, c.relowner, a.grantee, a.privilege_type, a.is_grantable
            FROM pg_class c, ns, aclexplode(c.relacl) a
            WHERE c.relnamespace = ns.oid
            UNION ALL
            SELECT c.relname || '.' || t.attname, c.relowner, a.grantee, a.privilege_type, a.is_grantable
            FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid, ns, aclexplode(t.attacl) a
            WHERE c.relnamespace = ns.oid
            UNION ALL
            SELECT 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', p.proowner, a.grantee,
                a.privilege_type, a.is_grantable
            FROM pg_proc p, ns, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            WHERE p.pronamespace = ns.oid
        ) g WHERE g.grantee <> g.owner
        GROUP BY 1
        ORDER BY 1
        """)

    /// The roles of the schema that may do more than their grants say.
    static let roles = Statement(
        """
        SELECT 'role ' || r.rolname, concat_ws(', ', CASE WHEN r.rolcanlogin THEN 'may log in' END,
            CASE WHEN r.rolsuper THEN 'is superuser' END, CASE WHEN r.rolcreaterole THEN 'may make roles' END,
            CASE WHEN r.rolcreatedb THEN 'may make databases' END, CASE WHEN r.rolreplication THEN 'may replicate' END,
            CASE WHEN r.rolbypassrls THEN 'bypasses row security' END,
            (SELECT 'is a member of ' || string_agg(g.rolname, ', ' ORDER BY g.rolname)
             FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid))
        FROM pg_roles r
        WHERE r.rolname IN (
                'native_sso_admin', 'native_sso_broker', 'native_sso_registrar', 'native_sso_support', 'native_sso_audit')
            AND (r.rolcanlogin OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls
                OR EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid))
        ORDER BY r.rolname
        """)
}
