import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("The audit on the command line", .timeLimit(.minutes(10)))
struct AuditCommandTests {
    /// The audit of the first acts, sealed, without a broker. Transactions of other tests may delay the seals.
    private static func withSealedAudit(_ body: @Sendable (Installation) async throws -> Void) async throws {
        try await Installation.withSchema { installation in
            try await installation.succeed(
                "client", "add", "app1", "--audience", "https://api.example.com", "--reason", "Ticket 7")
            _ = try await eventually("the audit is sealed") {
                try await installation.cluster.psql(
                    "SELECT native_sso.seal_audit(0)", database: installation.database)
                let found = try await installation.object("audit", "verify", "--without-keys")
                return found.number("unsealed")?.int64 == 0 ? true : nil
            }
            try await body(installation)
        }
    }

    @Test func `verify passes, and names the first range that an owner changed`() async throws {
        try await Self.withSealedAudit { installation in
            let line = try await installation.withBroker { broker in
                // The broker tags what was sealed before it began.
                try #require(try await broker.process.errorLine(containing: "audit sealed"))
            }
            let log = installation.file("kept.log")
            try Data("something else\n\(line)\n".utf8).write(to: URL(filePath: log))
            let honest = try await installation.object("audit", "verify", "--checkpoints", log)
            #expect(honest.number("last_checkpoint")?.int64 == 1 && honest.number("last_tagged")?.int64 ?? 0 >= 1)
            try await installation.cluster.psql(
                """
                ALTER TABLE native_sso.audit_event DISABLE TRIGGER USER;
                UPDATE native_sso.audit_event SET reason = 'nothing' WHERE kind = 'client_added'
                """, database: installation.database)
            let changed = try await installation.run(["audit", "verify"])
            #expect(changed.status == 1)
            #expect(
                changed.errors.hasPrefix("native-sso: the audit is not as it was sealed: seal "), "\(changed.errors)")
            #expect(changed.errors.contains("an event was changed"))
            try Data("nothing\n".utf8).write(to: URL(filePath: log))
            let strange = try await installation.run(["audit", "verify", "--checkpoints", log])
            #expect(strange.status == 2 && strange.errors.contains("no line with `seal` and `chain`"))
        }
    }

    @Test func `without the keys it says so, and a checkpoint is one line for a file`() async throws {
        try await Self.withSealedAudit { installation in
            let other = try await installation.run(
                ["audit", "verify"], environment: ["NATIVE_SSO_KEYS_DIRECTORY": "/tmp"])
            #expect(other.status == 3 && other.errors.contains("--without-keys"), "\(other.errors)")
            let line = try await installation.succeed("audit", "checkpoint")
            let object = try #require(try JSONReader.parse(Array(line.utf8)).object)
            #expect(object.string("chain")?.utf8.count == 64 && object.number("seal")?.int64 != nil)
            let file = installation.file("checkpoint")
            try Data(line.utf8).write(to: URL(filePath: file))
            try await installation.succeed("audit", "verify", "--checkpoints", file)
            try await installation.cluster.psql(
                "TRUNCATE native_sso.audit_seal, native_sso.audit_event", database: installation.database)
            let lost = try await installation.run(["audit", "verify", "--checkpoints", file])
            #expect(
                lost.status == 1 && lost.errors.contains("which was kept as a checkpoint, is missing"), "\(lost.errors)"
            )
        }
    }

    @Test func `export, search and tail print JSON lines`() async throws {
        try await Self.withSealedAudit { installation in
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
}
