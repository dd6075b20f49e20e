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

    /// Text, and the line and words of its error. These need no registry.
    private static let broken: [(String, line: Int, String)] = [
        (client("    dpopp: required\n"), 5, "clients[0].dpopp: is not a key of a registry file; did you mean dpop?"),
        (client("    dpop: sometimes\n"), 5, "write one of off, optional, required"),
        (client("    dpop: off\n    dpop: required\n"), 5, "write each key once"),
        (client("    access_token_lifetime: 5\n"), 5, "write a whole number and a unit"),
        (client("    access_token_lifetime: 25h\n"), 5, "must be from 10s to 1d"),
        (client("    enabled: no\n"), 5, "write true or false"),
        (client("    allowed_scope: openid\n"), 5, "must be a list"),
        (client("    allowed_scope: [two words]\n"), 5, "write one scope"),
        (client("    client_secret: hunter2\n"), 5, "native-sso client secret rotate"),
        (client("  - client_id: app1\n"), 5, "describes the client a second time, after line 3; remove one of them"),
        (client("    default_scope: *a\n"), 5, "anchors (&) and aliases (*) are not read; write the value out"),
        (client("   \tx: [\n"), 5, "is not YAML"),
        ("clients: []\n", 0, "name: is missing"),
        ("name: m\nscopes:\n  - scope: a\n  - scope: a\n", 4, "describes the scope a second time"),
        (
            "name: m\ngroups:\n  - group_id: g\n    issuer: i\n    members:\n      - client_id: a\n        role: king\n",
            7,
            "write one of source, target, both"
        ),
        (
            """
            name: m
            groups:
              - group_id: g
                issuer: i
                members: [{client_id: a, role: both}]
              - group_id: h
                issuer: i
                members: [{client_id: a, role: both}]
            """, 8, "is a member of a group of this issuer already, after line 5"
        ),
    ]

    private static func client(_ lines: String) -> String { head + lines }

    @Test func `a mistake is named with its line, before anything is read`() async throws {
        try await Installation.withFiles { installation in
            for (text, line, words) in Self.broken {
                try installation.write(text, to: "registry.yaml")
                let outcome = try await installation.run(["registry", "plan", installation.file("registry.yaml")])
                #expect(outcome.errors.contains(words), "\(text): \(outcome.errors)")
                if line > 0 {
                    #expect(outcome.errors.contains("registry.yaml:\(line): "), "\(text): \(outcome.errors)")
                }
                #expect(!outcome.errors.contains("hunter2"))
            }
        }
    }

    @Test func `invalid UTF-8 and a file that is too long are refused`() async throws {
        try await Installation.withFiles { installation in
            let file = installation.file("registry.yaml")
            try (Data("name: m\nclients:\n  - client_id: ".utf8) + Data([0xC3, 0x28, 0x0A])).write(
                to: URL(filePath: file))
            let wrong = try await installation.run(["registry", "plan", file])
            #expect(wrong.status == 2 && wrong.errors.contains("registry.yaml:3: is not UTF-8"), "\(wrong.errors)")
            // A million clients.
            try Data(String(repeating: "  - client_id: application-of-a-tenant\n", count: 1_000_000).utf8).write(
                to: URL(filePath: file))
            let long = try await installation.run(["registry", "plan", file])
            #expect(long.status == 2 && long.errors.contains("longer than"), "\(long.errors)")
        }
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
                try installation.write(text, to: "registry.yaml")
                let outcome = try await installation.run(
                    [
                        "registry", "apply", installation.file("registry.yaml"), "--serial", "1", "--execute",
                        "--reason", "x",
                    ])
                #expect(outcome.status == 2 && outcome.output.isEmpty)
                #expect(outcome.errors.contains("registry.yaml:\(line): "), "\(text): \(outcome.errors)")
                #expect(outcome.errors.contains(words), "\(text): \(outcome.errors)")
            }
        }
    }

    @Test func `another file's items and hand-made members are safe`() async throws {
        try await Installation.withSchema { installation in
            func run(_ text: String, _ options: String...) async throws -> ManagedProcess.Outcome {
                try installation.write(text, to: "registry.yaml")
                let serial = try await installation.cluster.psql(
                    "SELECT serial FROM native_sso.registry_serial", database: installation.database)
                return try await installation.run(
                    [
                        "registry", "apply", installation.file("registry.yaml"), "--serial", serial.filter(\.isNumber),
                        "--execute", "--reason", "x",
                    ] + options)
            }
            let group = "groups: [{group_id: g, issuer: \(Installation.identityProvider)}]\n"
            #expect(try await run(Self.head + group).status == 0)
            let other = "name: web\nclients: [{client_id: app1, dpop: required}]\n"
            let refused = try await run(other)
            #expect(refused.status == 2 && refused.errors.contains("the registry file mobile manages the client app1"))
            try await installation.succeed("group", "member", "add", "g", "app1", "--role", "both")
            let lost = try await run("name: mobile\n", "--prune")
            #expect(lost.status == 2 && lost.errors.contains("which this file never managed"), "\(lost.errors)")
            #expect(try await run(other, "--take-over").status == 0)
            #expect(try await installation.object("client", "show", "app1").string("dpop") == "required")
        }
    }

    @Test func `of two operators with one serial number, the second is refused`() async throws {
        try await Installation.withSchema { installation in
            for app in ["one", "two"] {
                try installation.write(
                    "name: \(app)\nclients: [{client_id: \(app), audiences: [a]}]\n", to: "\(app).yaml")
            }
            @Sendable func apply(_ app: String) async throws -> ManagedProcess.Outcome {
                try await installation.run(
                    [
                        "registry", "apply", installation.file("\(app).yaml"), "--serial", "1", "--execute", "--reason",
                        app,
                    ])
            }
            async let first = apply("one")
            async let second = apply("two")
            let outcomes = try await [first, second]
            #expect(outcomes.map(\.status).sorted() == [0, 1])
            let refused = try #require(outcomes.first { $0.status == 1 })
            #expect(refused.errors.contains("its serial number is 2, the plan was made at 1"), "\(refused.errors)")
            #expect(try await installation.object("client", "list").array("clients")?.count == 1)
            // A command counts as well.
            try await installation.succeed("scope", "add", "x")
            #expect(
                try await installation.cluster.psql(
                    "SELECT serial FROM native_sso.registry_serial", database: installation.database) == "3\n")
        }
    }

    @Test func `a terminal that goes away in the middle leaves nothing half applied`() async throws {
        try await Installation.withSchema { installation in
            try await installation.succeed("client", "add", "last", "--audience", "a")
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
            _ = try await eventually("the change waits for the row", every: .milliseconds(20)) {
                let waiting = try await installation.cluster.psql(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
                    database: installation.database)
                return waiting == "1\n" ? true : nil
            }
            process.signal(SIGHUP)
            #expect(await process.exitStatus == 128 + SIGHUP)
            try await holder.rows("ROLLBACK")
            // The server may still be rolling back: the next change waits for it.
            try await installation.succeed("client", "update", "last", "--dpop", "optional")
            #expect(try await installation.object("client", "list").array("clients")?.count == 1)
            #expect(try await installation.audit().allSatisfy { !$0.contains("registry_applied") })
        }
    }
}
