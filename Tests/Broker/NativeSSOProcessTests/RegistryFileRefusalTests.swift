import BrokerHarness
import ChildProcesses
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("A registry file that is refused", .timeLimit(.minutes(10)))
struct RegistryFileRefusalTests {
    private static let head = "name: mobile\nclients:\n  - client_id: app1\n    audiences: [a]\n"

    private static func apply(
        _ text: String, named name: String = "registry", at serial: String, _ installation: Installation,
        _ options: [String] = []
    ) async throws -> ManagedProcess.Outcome {
        try installation.write(text, to: "\(name).yaml")
        let apply = ["registry", "apply", installation.file("\(name).yaml"), "--serial", serial]
        return try await installation.run(apply + ["--execute", "--reason", "x"] + options)
    }

    @Test func `a rule of the registry is named with its line, and nothing is applied`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let issuer = Installation.identityProvider
            for (text, line, words) in [
                ("name: m\nclients:\n  - client_id: app3\n", 3, "must name at least one resource server"),
                ("name: m\nclients:\n  - client_id: app1\n    default_scope: [x]\n", 4, "must lie within"),
                ("name: m\nclients:\n  - client_id: app1\n    authentication: private_key_jwt\n", 4, "cannot change"),
                ("name: m\nclients:\n  - client_id: app1\n    copied_claims: [sub]\n", 4, "sets this claim itself"),
                ("name: m\nclients:\n  - client_id: app1\n    access_token_algorithm: RS256\n", 4, "no RS256 key"),
                ("name: m\ngroups:\n  - group_id: vendor\n    issuer: other\n", 3, "cannot change"),
                (
                    "name: m\ngroups:\n  - group_id: g\n    issuer: \(issuer)\n    members: [{client_id: zz, role: both}]\n",
                    5, "there is no client zz"
                ),
            ] {
                let outcome = try await Self.apply(text, at: "1", installation)
                #expect(outcome.status == 2 && outcome.output.isEmpty)
                #expect(outcome.errors.contains("registry.yaml:\(line): "), "\(text): \(outcome.errors)")
                #expect(outcome.errors.contains(words), "\(text): \(outcome.errors)")
            }
        }
    }

    @Test func `another file's items and hand-made members are safe`() async throws {
        try await Installation.withSchema { installation in
            func run(_ text: String, _ options: String...) async throws -> ManagedProcess.Outcome {
                let serial = try await installation.session().row("SELECT serial FROM native_sso.registry_serial")
                return try await Self.apply(text, at: serial, installation, options)
            }
            let group = "groups: [{group_id: g, issuer: \(Installation.identityProvider)}]\n"
            #expect(try await run(Self.head + group).status == 0)
            let other = "name: web\nclients: [{client_id: app1, dpop: required}]\n"
            let refused = try await run(other)
            #expect(refused.status == 2 && refused.errors.contains("the registry file mobile manages the client app1"))
            try await installation.command("group", "member", "add", "g", "app1", "--role", "both")
            let lost = try await run("name: mobile\n", "--prune")
            #expect(lost.status == 2 && lost.errors.contains("which this file never managed"), "\(lost.errors)")
            #expect(try await run(other, "--take-over").status == 0)
            #expect(try await installation.object("client", "show", "app1").string("dpop") == "required")
        }
    }

    @Test func `of two operators with one serial number, the second is refused`() async throws {
        try await Installation.withSchema { installation in
            @Sendable func apply(_ app: String) async throws -> ManagedProcess.Outcome {
                let text = "name: \(app)\nclients: [{client_id: \(app), audiences: [a]}]\n"
                return try await Self.apply(text, named: app, at: "1", installation)
            }
            async let first = apply("one")
            async let second = apply("two")
            let outcomes = try await [first, second]
            #expect(outcomes.map(\.status).sorted() == [0, 1])
            let refused = try #require(outcomes.first { $0.status == 1 })
            #expect(refused.errors.contains("its serial number is 2, the plan was made at 1"), "\(refused.errors)")
            #expect(try await installation.object("client", "list").array("clients")?.count == 1)
            // A command counts as well.
            try await installation.command("scope", "add", "x")
            #expect(
                try await installation.cluster.psql(
                    "SELECT serial FROM native_sso.registry_serial", database: installation.database) == "3\n")
        }
    }

    @Test func `a terminal that goes away in the middle leaves nothing half applied`() async throws {
        try await Installation.withSchema { installation in
            try await installation.command("client", "add", "last", "--audience", "a")
            let clients = (0..<50).map { "  - {client_id: new\($0), audiences: [a]}\n" }.joined()
            try installation.write(
                "name: m\nclients:\n\(clients)  - {client_id: last, dpop: required}\n", to: "registry.yaml")
            let holder = try installation.session()
            try await holder.rows("BEGIN")
            try await holder.rows("SELECT 1 FROM native_sso.client WHERE client_id = 'last' FOR UPDATE")
            let process = try ManagedProcess(
                try BuildProducts.path(of: "native-sso"),
                [
                    "--config", installation.file("administration.yaml"), "registry", "apply",
                    installation.file("registry.yaml"), "--serial", "2", "--execute", "--reason", "x",
                ], log: URL(filePath: installation.file("apply.log")))
            try await installation.cluster.until(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = '\(installation.database)' AND wait_event_type = 'Lock';
                """, answers: "1")
            process.signal(SIGHUP)
            #expect(await process.exitStatus == 128 + SIGHUP)
            try await holder.rows("ROLLBACK")
            // The server may still be rolling back: the next change waits for it.
            try await installation.command("client", "update", "last", "--dpop", "optional")
            #expect(try await installation.object("client", "list").array("clients")?.count == 1)
            #expect(try await installation.audit().allSatisfy { !$0.contains("registry_applied") })
        }
    }
}
