import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso migrate, as a process on a database", .timeLimit(.minutes(10)))
struct MigrateCommandTests {
    @Test func `a migration that is killed in the middle of a file goes on where it stopped`() async throws {
        try await Installation.withFiles { installation in
            let steps = try await installation.succeed("migrate", "up", "--to", "2")
            #expect(steps.contains("clients_and_groups") && !steps.contains("sessions_and_grants"), "\(steps)")
            // Makes the next file wait in its middle: two cannot make a table of one name.
            let blocker = try installation.session()
            try await blocker.rows("BEGIN; CREATE TABLE native_sso.sso_grant (n int)")
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE application_name = 'native-sso migrate'
                    AND datname = '\(installation.database)' AND wait_event_type = 'Lock';
                """
            let migration = try ManagedProcess(
                try BuildProducts.path(of: "native-sso"),
                ["--config", installation.file("\(Installation.administration).yaml"), "migrate", "up"],
                log: URL(filePath: installation.file("migration.log")))
            try await installation.cluster.until(waiting, answers: "1")
            migration.kill()
            _ = await migration.exitStatus
            try await blocker.rows("ROLLBACK")
            let rest = try await installation.succeed("migrate", "up")
            #expect(rest.contains("sessions_and_grants") && !rest.contains("clients_and_groups"), "\(rest)")
            #expect(try await installation.succeed("migrate", "verify").contains("up to date"))
        }
    }

    @Test func `plan shows locks and SQL, and measures only when told to`() async throws {
        try await Installation.withFiles { installation in
            let plan = try await installation.object("migrate", "plan", "--sql").array("plan")
            let first = try #require(plan?.first?.object)
            #expect(first.string("file") == "0001_roles.sql" && first["milliseconds"] == .null)
            #expect(first.string("sql")?.contains("CREATE ROLE") == true)
            let tried = try await installation.object("migrate", "plan", "--try", "--to", "2").array("plan")
            #expect(tried?.count == 2 && tried?.last?.object?.number("milliseconds") != nil)
            #expect(try await installation.run(["migrate", "plan", "--to", "99"]).status == 2)
            let early = try await installation.run(["migrate", "verify"])
            #expect(early.errors.contains("Not applied to the database yet"), "\(early.errors)")
            try await installation.succeed("migrate", "up")
            #expect(try await installation.succeed("migrate", "plan") == "the schema is up to date\n")
        }
    }

    @Test func `verify tells what was changed, and who may not ask`() async throws {
        try await Installation.withSchema { installation in
            #expect(try await installation.succeed("migrate", "verify") == "schema: up to date\n")
            try await installation.cluster.psql(
                "ALTER TABLE native_sso.audit_event DISABLE TRIGGER append_only", database: installation.database)
            let changed = try await installation.run(["migrate", "verify"])
            #expect(changed.status == 1, "\(changed.errors)")
            #expect(changed.errors.contains("the first in trigger append_only of audit_event"), "\(changed.errors)")
            #expect(changed.output.contains("enabled O") && changed.output.contains("enabled D"), "\(changed.output)")
            try await installation.succeed("migrate", "verify", "--files-only")
            let service = try await installation.run(
                ["migrate", "verify"], environment: installation.serviceEnvironment)
            #expect(service.status == 3 && service.errors.contains("42501"), "\(service.errors)")
            let files = try await installation.run(
                ["migrate", "verify", "--files-only"], environment: installation.serviceEnvironment)
            #expect(files.status == 0, "\(files.errors)")
        }
    }
}
