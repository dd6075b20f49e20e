import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso migrate, as a process on a database", .timeLimit(.minutes(10)))
struct MigrateCommandTests {
    @Test func `plan shows SQL, and measures only when told to; verify says who may not ask`() async throws {
        try await Installation.withFiles { installation in
            let plan = try await installation.object("migrate", "plan", "--sql").array("plan")
            let first = try #require(plan?.first?.object)
            #expect(first.string("file") == "0001_roles.sql" && first["milliseconds"] == .null)
            #expect(first.string("sql")?.contains("CREATE ROLE") == true)
            let tried = try await installation.object("migrate", "plan", "--try", "--to", "2").array("plan")
            #expect(tried?.count == 2 && tried?.last?.object?.number("milliseconds") != nil)

            let applied = try await installation.object("migrate", "up").array("applied")?.count
            #expect(applied == plan?.count)
            #expect(try await installation.object("migrate", "status").array("migrations")?.count == applied)
            try await installation.createServiceRole()
            let verify = ["migrate", "verify"]
            try await installation.expectFailure(verify, 3, "42501", environment: installation.serviceEnvironment)
            let files = try await installation.run(
                verify + ["--files-only"], environment: installation.serviceEnvironment)
            #expect(files.status == 0, "\(files.errors)")
        }
    }
}
