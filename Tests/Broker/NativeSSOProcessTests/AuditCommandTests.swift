import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("The audit on the command line", .timeLimit(.minutes(10)))
struct AuditCommandTests {
    @Test func `export, search and tail print JSON lines`() async throws {
        try await Installation.withSchema { installation in
            try await installation.succeed(
                "client", "add", "app1", "--audience", "https://api.example.com", "--reason", "Ticket 7")
            func kinds(_ arguments: String...) async throws -> [String] {
                let outcome = try await installation.run(["audit"] + arguments)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return try outcome.output.split(separator: "\n").map {
                    try #require(try JSONReader.parse(Array($0.utf8)).object?.string("kind"))
                }
            }
            let all = try await kinds("export")
            #expect(all.contains("key_added") && all.last == "client_added", "\(all)")
            #expect(try await kinds("export", "--until", "1h") == [])
            #expect(try await kinds("export", "--from", "40d", "--kind", "client_added") == ["client_added"])
            #expect(try await kinds("search", "ticket 7") == ["client_added"])
            #expect(try await kinds("search", "ticket 8") == [])
            #expect(try await installation.run(["audit", "search", ""]).status == 2)
            #expect(try await installation.run(["audit", "tail", "--until", "1h"]).status == 2)
            let tail = try ManagedProcess(
                try BuildProducts.path(of: "native-sso"),
                [
                    "--config", installation.file("\(Installation.administration).yaml"), "audit", "tail", "--from",
                    "1h",
                ],
                log: URL(filePath: installation.file("tail.log")))
            var isTold = false
            while let line = try await tail.nextLine() {
                let kind = try JSONReader.parse(Array(line.utf8)).object?.string("kind")
                if kind == "client_added" {
                    try await installation.succeed(
                        "group", "add", "vendor", "--issuer", Installation.identityProvider, "--reason", "Ticket 9")
                }
                isTold = line.contains("Ticket 9")
                if isTold { break }
            }
            await tail.terminate()
            #expect(isTold, "\(tail.errors)")
        }
    }

    private static let reader = "process_tests_audit"

    /// `audit export --follow`, as a member of `native_sso_audit` and nothing more.
    private static func follow(_ installation: Installation, _ arguments: String...) async throws -> ManagedProcess {
        try await installation.cluster.makeLogin(role: reader, "IN ROLE native_sso_audit")
        return try ManagedProcess(
            try BuildProducts.path(of: "native-sso"),
            ["--config", installation.file("\(Installation.administration).yaml"), "audit", "export", "--follow"]
                + arguments,
            environment: [
                "NATIVE_SSO_DATABASE_URL": installation.cluster.connectionURI(
                    database: installation.database, user: reader)
            ],
            log: URL(filePath: installation.file("follow-\(Unguessable.make().prefix(8)).log")))
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

    @Test func `follow writes each event once, also a late one and across a lost connection`() async throws {
        try await Installation.withSchema { installation in
            let follower = try await Self.follow(installation)
            let old = try await Self.lines(of: follower) { $0.string("kind") == "key_added" }
            #expect(old.allSatisfy { $0.string("position") != nil && $0.string("gap") == nil })

            async let late = installation.cluster.psql(
                """
                BEGIN;
                INSERT INTO native_sso.audit_event (occurred_at, kind) VALUES (now(), 'late');
                SELECT pg_sleep(2);
                COMMIT;
                """, database: installation.database)
            _ = try await eventually("the first transaction waits") {
                try await installation.cluster.psql(
                    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(2)%' AND wait_event = 'PgSleep'",
                    database: installation.database) == "1\n" ? true : nil
            }
            try await Self.record("early", installation)
            _ = try await late
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
            let first = try await Self.follow(installation, "--position", file)
            let lines = try await Self.lines(of: first) { $0.string("kind") == "first" }
            let position = try #require(lines.last?.string("position"))
            _ = try await eventually("the position is kept") {
                try? String(contentsOfFile: file, encoding: .utf8) == position + "\n" ? true : nil
            }
            #expect(await first.terminate() == 0)

            try await Self.record("second", installation)
            for arguments in [["--after", position], ["--position", file]] {
                let next = try await Self.follow(installation, arguments[0], arguments[1])
                let line = try await next.nextLine()
                #expect(line?.contains(#""kind":"second""#) == true, "\(next.errors)")
                await next.terminate()
            }

            try await installation.cluster.psql(
                """
                ALTER TABLE native_sso.audit_event DISABLE TRIGGER USER;
                DELETE FROM native_sso.audit_event WHERE kind IN ('first', 'second')
                """, database: installation.database)
            let told = try await Self.follow(installation, "--after", position)
            let gap = try await Self.lines(of: told) { $0.string("gap") != nil }
            #expect(gap.count == 1 && gap.first?.string("gap") == "database_went_back")
            #expect(gap.first?.string("after") == position)
            await told.terminate()
            #expect(told.errors.contains("native-sso: the database went back after position \(position)"))
        }
    }

    @Test func `follow refuses a filter, a strange position and another role`() async throws {
        try await Installation.withSchema { installation in
            func outcome(_ arguments: String...) async throws -> ManagedProcess.Outcome {
                try await installation.run(["audit", "export"] + arguments)
            }
            #expect(try await outcome("--follow", "--kind", "client_added").status == 2)
            #expect(try await outcome("--follow", "--after", "1.2.3").status == 2)
            #expect(try await outcome("--after", "1.2.3.4.5").status == 2)
            let file = installation.file("strange")
            try installation.write("somewhere\n", to: "strange")
            let strange = try await outcome("--follow", "--position", file)
            #expect(strange.status == 2 && strange.errors.contains("holds no position"), "\(strange.errors)")
            let service = try await installation.run(
                ["audit", "export", "--follow"], environment: installation.serviceEnvironment)
            #expect(service.status == 3 && service.errors.contains("native_sso_audit"), "\(service.errors)")
        }
    }
}
