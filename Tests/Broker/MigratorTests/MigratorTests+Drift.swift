import Migrations
import Migrator
import PostgresClient
import PrivateCluster
import Testing

/// Databases that are not as the migrations make them.
extension MigratorTests {
    private static let changes = [
        ("DROP INDEX native_sso.session_device", "index session_device"),
        ("ALTER TABLE native_sso.sso_grant DISABLE TRIGGER guard_grant", "trigger guard_grant of sso_grant"),
        ("ALTER TABLE native_sso.session ADD COLUMN mine int", "column session.mine"),
        ("ALTER TABLE native_sso.client ALTER COLUMN enabled DROP NOT NULL", "column client.enabled"),
        ("GRANT SELECT ON native_sso.session TO native_sso_broker", "grant of SELECT on session to native_sso_broker"),
        (
            "REVOKE EXECUTE ON FUNCTION native_sso.sweep_audit FROM native_sso_broker",
            "grant of EXECUTE on function sweep_audit(p_limit bigint) to native_sso_broker"
        ),
        (
            "GRANT EXECUTE ON FUNCTION native_sso.try_sweep TO PUBLIC",
            "grant of EXECUTE on function try_sweep() to PUBLIC"
        ),
        (
            "CREATE OR REPLACE FUNCTION native_sso.try_sweep() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
            "function try_sweep()"
        ),
        ("ALTER TABLE native_sso.sweep OWNER TO postgres", "relation sweep"),
        (
            """
            DO $$ BEGIN EXECUTE 'ALTER TABLE native_sso.audit_event_p' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')
                || ' DISABLE TRIGGER append_only'; END $$
            """, "trigger append_only of audit_event_p"
        ),
    ]

    @Test func verifyNamesWhatWasChanged() async throws {
        try await withDatabase { cluster, database, configuration in
            let migrator = Migrator(configuration)
            _ = try await migrator.up()
            #expect(try await migrator.drift() == [])
            for (change, _) in Self.changes { try await cluster.psql(change, database: database) }
            let drift = try await migrator.drift()
            for (change, object) in Self.changes {
                #expect(drift.contains { $0.object.hasPrefix(object) }, "\(change): \(drift)")
            }
            // It has left nothing behind.
            #expect(
                try await cluster.psql(
                    "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'native\\_sso%'", database: database) == "1\n"
            )
            #expect(try await migrator.drift() == drift)
        }
    }

    /// A schema of the same name, and a table of the same name with other columns.
    @Test(arguments: ["CREATE TABLE native_sso.theirs (n int)", "CREATE TABLE native_sso.schema_migration (n int)"])
    func foreignSchemaIsRefused(statement: String) async throws {
        try await withDatabase { cluster, database, configuration in
            try await cluster.psql("CREATE SCHEMA native_sso; \(statement)", database: database)
            let migrator = Migrator(configuration)
            let errors = [
                await refusal { () throws(MigratorError) in _ = try await migrator.up() },
                await refusal { () throws(MigratorError) in _ = try await migrator.plan() },
                await refusal { () throws(MigratorError) in _ = try await migrator.trial() },
            ]
            #expect(errors == [.foreignSchema, .foreignSchema, .foreignSchema])
            let left = try await cluster.psql(
                "SELECT count(*) FROM pg_class WHERE relnamespace = 'native_sso'::regnamespace", database: database)
            #expect(left == "1\n")
        }
    }

    /// Also where an administrator has made the schema, for an owner who may not.
    @Test func stopsAtTheNamedFile() async throws {
        try await withDatabase { cluster, database, configuration in
            try await cluster.psql("CREATE SCHEMA native_sso", database: database)
            let migrator = Migrator(configuration)
            #expect(try await migrator.plan(to: 2).map(\.version) == [1, 2])
            #expect(try await migrator.up(to: 2).map(\.version) == [1, 2])
            let again = [try await migrator.up(to: 2), try await migrator.up(to: 1)]
            #expect(again.map(\.count) == [0, 0])
            let last = Migrations.all.compactMap(\.version).max() ?? 0
            for wrong in [0, last + 1] {
                let error = await refusal { () throws(MigratorError) in _ = try await migrator.up(to: wrong) }
                #expect(error == .noSuchVersion(wrong, last: last))
            }
            #expect(try await migrator.up(to: last).count == Migrations.all.count - 2)
            #expect(try await migrator.drift() == [])
        }
    }
}
