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
}
