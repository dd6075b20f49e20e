import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("The audit on the command line", .timeLimit(.minutes(10)))
struct AuditCommandTests {
    private static let reader = "process_tests_audit"

    /// A command that goes on, as a member of `native_sso_audit` and nothing more.
    private static func start(
        _ installation: Installation, _ arguments: String..., user: String = reader
    ) async throws -> ManagedProcess {
        try await installation.cluster.makeLogin(role: reader, "IN ROLE native_sso_audit")
        return try ManagedProcess(
            try BuildProducts.path(of: "native-sso"),
            ["--config", installation.file("\(Installation.administration).yaml"), "audit"] + arguments,
            environment: [
                "NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(
                    database: installation.database, user: user)
            ],
            log: installation.directory.appending(path: "follow-\(Unguessable.make().prefix(8)).log"))
    }

    /// The lines up to the first one for which `isLast` holds.
    private static func lines(
        of process: ManagedProcess, until isLast: (JSONObject) -> Bool
    ) async throws -> [JSONObject] {
        var found: [JSONObject] = []
        while let line = try await process.nextLine() {
            let object = try #require(try JSONReader.parse(Array(line.utf8)).object)
            found.append(object)
            if isLast(object) { return found }
        }
        Issue.record("it ended with status \(await process.exitStatus): \(process.errors)")
        return found
    }

    private static func record(_ kind: String, _ installation: Installation) async throws {
        try await installation.cluster.psql(
            "INSERT INTO native_sso.audit_event (occurred_at, kind) VALUES (now(), '\(kind)')",
            database: installation.database)
    }

    /// An event that begins before another one and comes after it.
    private static func recordLate(_ installation: Installation) async throws {
        let late = try installation.session()
        try await late.rows(
            "BEGIN; INSERT INTO native_sso.audit_event (occurred_at, kind) VALUES (now(), 'late')")
        try await Self.record("early", installation)
        let now = try await late.row("SELECT clock_timestamp()")
        // The follower has looked again, and leaves out the early one until the late one has come.
        try await installation.cluster.until(
            """
            SELECT count(*) > 0 FROM pg_stat_activity
            WHERE usename = '\(Self.reader)' AND datname = '\(installation.database)' AND query_start > '\(now)';
            """, answers: "t")
        try await late.rows("COMMIT")
    }

    @Test func `tail prints an event when it is recorded`() async throws {
        try await Installation.withSchema { installation in
            let tail = try await Self.start(installation, "tail", "--from", "1h", user: PrivateCluster.superuser)
            _ = try await Self.lines(of: tail) { $0.string("kind") == "key_added" }
            try await installation.command("scope", "add", "orders")
            _ = try await Self.lines(of: tail) { $0.string("kind") == "scope_set" }
            await tail.terminate()
        }
    }

    @Test func `follow writes each event once, also a late one and across a lost connection`() async throws {
        try await Installation.withSchema { installation in
            let follower = try await Self.start(installation, "export", "--follow")
            let old = try await Self.lines(of: follower) { $0.string("kind") == "key_added" }
            #expect(old.allSatisfy { $0.string("position") != nil && $0.string("gap") == nil })

            try await Self.recordLate(installation)
            let ended = try await installation.cluster.psql(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = '\(Self.reader)' AND datname = current_database()
                """, database: installation.database)
            #expect(ended.hasPrefix("t"))
            try await Self.record("after", installation)
            let new = try await Self.lines(of: follower) { $0.string("kind") == "after" }
            let kinds = new.compactMap { $0.string("kind") }.filter { $0 != "key_added" }
            #expect(kinds == ["late", "early", "after"], "\(follower.errors)")
            #expect(await follower.terminate() == 0)
        }
    }

    @Test func `follow goes on after a position, and says that the database went back`() async throws {
        try await Installation.withSchema { installation in
            let file = installation.file("position")
            try await Self.record("first", installation)
            let first = try await Self.start(installation, "export", "--follow", "--position", file)
            let lines = try await Self.lines(of: first) { $0.string("kind") == "first" }
            let position = try #require(lines.last?.string("position"))
            _ = try await eventually("the position is kept") {
                try? String(contentsOfFile: file, encoding: .utf8) == position + "\n" ? true : nil
            }
            #expect(await first.terminate() == 0)

            try await Self.record("second", installation)
            for arguments in [["--after", position], ["--position", file]] {
                let next = try await Self.start(installation, "export", "--follow", arguments[0], arguments[1])
                let line = try await next.nextLine()
                #expect(line?.contains(#""kind":"second""#) == true, "\(next.errors)")
                await next.terminate()
            }

            try await installation.cluster.psql(
                """
                ALTER TABLE native_sso.audit_event DISABLE TRIGGER USER;
                DELETE FROM native_sso.audit_event WHERE kind IN ('first', 'second')
                """, database: installation.database)
            let told = try await Self.start(installation, "export", "--follow", "--after", position)
            let gap = try await Self.lines(of: told) { $0.string("gap") != nil }
            #expect(gap.count == 1 && gap.first?.string("gap") == "database_went_back")
            #expect(gap.first?.string("after") == position)
            await told.terminate()
            #expect(told.errors.contains("native-sso: the database went back after position \(position)"))
        }
    }

    @Test func `follow refuses a strange position and another role`() async throws {
        try await Installation.withSchema { installation in
            try installation.write("somewhere\n", to: "strange")
            let follow = ["audit", "export", "--follow"]
            try await installation.expectFailure(
                follow + ["--position", installation.file("strange")], 2, "holds no position")
            try await installation.expectFailure(
                follow, 3, "native_sso_audit", environment: installation.serviceEnvironment)
        }
    }
}
