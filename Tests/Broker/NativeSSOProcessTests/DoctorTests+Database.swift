import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

/// Faults of the database and of the schema.
extension DoctorTests {
    @Test func `a database that is away, a role with too many rights, one with few connections, and lost commits`()
        async throws
    {
        try await Installation.withSchema { installation in
            let away = try await doctor(
                installation, ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"])
            #expect(away.state("database.connection") == "failed" && away.status == 3)
            #expect(away.seen("database.connection").contains("Connection refused"))
            #expect(away.state("schema.migrations") == nil, "it cannot be judged")

            let owner = ["NATIVE_SSO_DATABASE_URL": installation.ownerEnvironment["NATIVE_SSO_DATABASE_URL"] ?? ""]
            let wide = try await doctor(installation, owner)
            #expect(wide.state("database.role") == "failed" && wide.seen("database.role").contains("is a superuser"))
            #expect(try await doctor(installation, installation.ownerEnvironment).state("database.role") == "warning")

            let role = "few_\(Unguessable.make().lowercased().filter(\.isLetter).prefix(10))"
            let psql = installation.cluster
            try await psql.makeLogin(role: role, "IN ROLE native_sso_broker CONNECTION LIMIT 5")
            try await psql.psql(
                "ALTER ROLE \(role) IN DATABASE \(installation.database) SET synchronous_commit = off")
            let few = try await doctor(
                installation,
                ["NATIVE_SSO_DATABASE_URL": psql.connectionURI(database: installation.database, user: role)])
            few.expectRemedies()
            #expect(few.state("database.connections") == "warning")
            #expect(few.seen("database.connections") == "the role may have 5")
            #expect(few.state("database.commits") == "failed")
            #expect(few.seen("database.commits").hasPrefix("synchronous_commit is off"))
        }
    }

    @Test func `a role that may do a little more than it needs`() async throws {
        try await Installation.withSchema { installation in
            let role = "wide_\(Unguessable.make().lowercased().filter(\.isLetter).prefix(10))"
            let psql = installation.cluster
            try await psql.makeLogin(role: role, "CREATEDB IN ROLE native_sso_broker, native_sso_support")
            let found = try await doctor(
                installation,
                ["NATIVE_SSO_DATABASE_URL": psql.connectionURI(database: installation.database, user: role)])
            found.expectRemedies()
            #expect(found.state("database.role") == "warning")
            #expect(
                found.seen("database.role")
                    == "\(role) may make databases, is a member of native_sso_support")
        }
    }

    @Test func `a schema that is not as the migrations make it`() async throws {
        try await Installation.withSchema { installation in
            func psql(_ statement: String) async throws {
                _ = try await installation.cluster.psql(statement, database: installation.database)
            }
            let sound = try await doctor(installation, installation.ownerEnvironment)
            #expect(sound.state("schema.drift") == "ok" && sound.seen("schema.drift") == "as the migrations make it")
            try await psql("DROP INDEX native_sso.session_device")
            let owner = try await doctor(installation, installation.ownerEnvironment)
            owner.expectRemedies()
            #expect(owner.state("schema.drift") == "failed" && owner.seen("schema.drift") == "index session_device")
            #expect(try await doctor(installation).state("schema.drift") == "ok", "the service cannot know it")
            try await psql(
                """
                ALTER TABLE native_sso.sso_grant DISABLE TRIGGER guard_grant;
                GRANT UPDATE ON native_sso.session TO native_sso_broker
                """)
            let service = try await doctor(installation)
            #expect(service.state("schema.drift") == "failed")
            #expect(
                service.seen("schema.drift")
                    == "this user may write to session, trigger guard_grant of sso_grant is off")
            try await psql(
                "INSERT INTO native_sso.schema_migration VALUES (DEFAULT, 999, 'x', sha256('x'), now(), 'x')")
            let newer = try await doctor(installation)
            #expect(newer.state("schema.migrations") == "warning", "\(newer.seen("schema.migrations"))")
        }
    }

    @Test(.enabled(if: PgBouncer.program != nil)) func `a pooler in transaction mode is found`() async throws {
        try await Installation.withSchema { installation in
            let pooler = try await PgBouncer(
                "pool_mode = transaction", before: installation.cluster, users: [Installation.loginRole])
            let found = try await doctor(installation, pooler.environment(Installation.loginRole, installation))
            #expect(found.state("database.connection") == "failed")
            #expect(
                found.seen("database.connection").contains("pool_mode = session"),
                "\(found.seen("database.connection"))")
        }
    }

    @Test func `a schema that is missing, sweeps that do not come, and a month without partition`() async throws {
        try await Installation.withFiles { installation in
            let found = try await doctor(installation, installation.ownerEnvironment)
            #expect(found.state("schema.migrations") == "failed")
            #expect(found.seen("schema.migrations").contains("native-sso migrate up"))
            #expect(found.state("keys.usable") == nil)
        }
        try await Installation.withSchema { installation in
            func psql(_ statement: String) async throws {
                _ = try await installation.cluster.psql(statement, database: installation.database)
            }
            try await psql("UPDATE native_sso.schema_migration SET applied_at = applied_at - interval '2 days'")
            let never = try await doctor(installation)
            #expect(never.state("retention.sweep") == "warning")
            #expect(never.seen("retention.sweep") == "no broker has swept yet")
            try await psql("UPDATE native_sso.sweep SET begun_at = now() - interval '25 hours'")
            #expect(try await doctor(installation).seen("retention.sweep").hasPrefix("a broker swept last at 20"))
            try await psql("UPDATE native_sso.sweep SET begun_at = now() - interval '1 hour'")
            #expect(try await doctor(installation).state("retention.sweep") == "ok")
            try await psql(
                """
                DO $$ BEGIN
                    EXECUTE 'DROP TABLE native_sso.audit_event_p'
                        || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month', 'YYYY_MM');
                END $$
                """)
            let found = try await doctor(installation)
            found.expectRemedies()
            #expect(found.state("retention.audit") == "warning" && found.seen("retention.audit").hasPrefix("1 of this"))
        }
    }

    @Test func `users whose names would change`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            #expect(try await broker.post(try Login(installation, sid: "s").exchange(by: "app2")).status == 200)
            try await broker.stop()
            let file = try write(
                installation,
                providers: """
                      - issuer: \(Installation.identityProvider)
                        jwks_file: \(installation.file("key-set.json"))
                        profiles: [device-secret]
                        algorithms: [ES256]
                        subject_prefix: partner|
                    """)
            let found = try await doctor(installation, config: file)
            #expect(found.state("identity_provider.names") == "failed", "\(found.findings)")
        }
    }
}
