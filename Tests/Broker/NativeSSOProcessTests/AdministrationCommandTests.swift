import BrokerHarness
import ChildProcesses
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("The administration commands, as processes on a database", .timeLimit(.minutes(10)))
struct AdministrationCommandTests {
    // MARK: Schema

    @Test func `migrate up, status and verify`() async throws {
        try await Installation.withFiles { installation in
            let before = try await installation.run(["migrate", "verify"])
            #expect(before.status == 1)
            #expect(before.errors.contains("migrate up"))

            let applied = try await installation.object("migrate", "up")
            #expect((applied.array("applied")?.count ?? 0) > 0)
            #expect(try await installation.object("migrate", "up").array("applied")?.count == 0)
            #expect(try await installation.succeed("migrate", "up") == "the schema is up to date\n")
            try await installation.succeed("migrate", "verify")
            let status = try await installation.object("migrate", "status")
            #expect(status.array("migrations")?.count == applied.array("applied")?.count)
        }
    }

    @Test func `without a schema a command says what to type`() async throws {
        try await Installation.withFiles { installation in
            let outcome = try await installation.run(["client", "list"])
            #expect(outcome.status == 3)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.contains("native-sso migrate up"))
        }
    }

    @Test func `the service's own user may not administer`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["client", "add", "app", "--audience", "a"], environment: installation.serviceEnvironment)
            #expect(outcome.status == 3)
            #expect(outcome.errors.contains("native_sso_admin"))
        }
    }

    @Test func `a database that is away is named without its password`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["client", "list", "--json"],
                environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"])
            #expect(outcome.status == 3)
            let error = try #require(try JSONReader.parse(Array(outcome.errors.utf8)).object)
            #expect(error.string("error") == "infrastructure")
            #expect(error.string("message")?.hasSuffix("port 1 failed: Connection refused") == true)
            #expect(!outcome.errors.contains(installation.cluster.password))
        }
    }

    @Test(arguments: [["client", "list"], ["migrate", "up"]])
    func `a database that refuses says why, without the password`(command: [String]) async throws {
        try await Installation.withFiles { installation in
            try installation.write("open-sesame", to: "database-password")
            let outcome = try await installation.run(command)
            #expect(outcome.status == 3)
            #expect(outcome.errors.contains("28P01: password authentication failed for user"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("sesame"))
        }
    }

    // MARK: Clients, groups, scopes

    @Test func `a client's life`() async throws {
        try await Installation.withSchema { installation in
            try await installation.succeed(
                "client", "add", "app1", "--audience", "https://a.example.com", "--allowed-scope", "openid orders",
                "--default-scope", "openid", "--access-token-lifetime", "2m", "--reason", "launch")
            var client = try await installation.object("client", "show", "app1")
            #expect(client.strings("allowed_scope") == ["openid", "orders"])
            #expect(client.string("access_token_lifetime") == "2m")
            #expect(client.bool("enabled") == true)
            #expect(client.string("dpop") == "off")

            try await installation.succeed(
                "client", "update", "app1", "--allowed-scope", "openid", "--dpop", "required",
                "--introspects", "https://a.example.com", "https://b.example.com")
            client = try await installation.object("client", "show", "app1")
            #expect(client.strings("allowed_scope") == ["openid"])
            #expect(client.string("dpop") == "required")
            #expect(client.strings("introspects") == ["https://a.example.com", "https://b.example.com"])
            #expect(client.string("access_token_lifetime") == "2m")  // what is not given stays

            // Claims are listed and cleared. What the broker says itself cannot be listed.
            try await installation.succeed("client", "update", "app1", "--claim", "email", "--claim", "roles")
            client = try await installation.object("client", "show", "app1")
            #expect(client.strings("copied_claims") == ["email", "roles"])
            let refused = try await installation.run(["client", "update", "app1", "--claim", "sub"])
            #expect(refused.status == 2 && refused.errors.contains("--claim sub"))
            try await installation.succeed("client", "update", "app1", "--no-claim")
            client = try await installation.object("client", "show", "app1")
            #expect(client.strings("copied_claims") == [])

            try await installation.succeed(
                "client", "update", "app1", "--assertion-audience", "token_endpoint", "--assertion-lifetime", "1h")
            client = try await installation.object("client", "show", "app1")
            #expect(client.string("assertion_audience") == "token_endpoint")
            #expect(client.string("assertion_lifetime") == "1h")

            // A demand on the login is added and removed.
            try await installation.succeed(
                "client", "update", "app1", "--min-acr", "urn:loa:3", "urn:loa:2", "--max-auth-age", "12h")
            client = try await installation.object("client", "show", "app1")
            #expect(client.strings("accepted_acr") == ["urn:loa:3", "urn:loa:2"])
            #expect(client.string("maximum_authentication_age") == "12h")
            try await installation.succeed("client", "update", "app1", "--no-min-acr")
            client = try await installation.object("client", "show", "app1")
            #expect(client.strings("accepted_acr") == [])
            #expect(client.string("maximum_authentication_age") == "12h")
            try await installation.succeed("client", "update", "app1", "--no-max-auth-age")
            client = try await installation.object("client", "show", "app1")
            #expect(client.string("maximum_authentication_age") == nil)

            // RFC 6749 §5.2: any other grant type of this client is `unauthorized_client`.
            let (exchange, refresh) = ("urn:ietf:params:oauth:grant-type:token-exchange", "refresh_token")
            #expect(client.strings("grants") == [refresh, exchange])
            for (given, grants) in [
                (["token-exchange"], [exchange]), ([refresh], [refresh]), ([exchange, refresh], [refresh, exchange]),
            ] {
                #expect(try await installation.run(["client", "update", "app1", "--grant"] + given).status == 0)
                #expect(try await installation.object("client", "show", "app1").strings("grants") == grants)
            }

            #expect(try await installation.run(["client", "update", "app1", "--grant", "password"]).status == 2)
            #expect(try await installation.run(["client", "update", "app1", "--dpop", "sometimes"]).status == 2)
            try await installation.succeed("client", "disable", "app1")
            #expect(try await installation.object("client", "show", "app1").bool("enabled") == false)
            try await installation.succeed("client", "enable", "app1")
            #expect(try await installation.object("client", "show", "app1").string("dpop") == "required")
            #expect(try await installation.object("client", "list").array("clients")?.count == 1)

            let twice = try await installation.run(["client", "add", "app1", "--audience", "a"])
            #expect(twice.status == 1)
            #expect(twice.errors.contains("exists already"))
        }
    }

    @Test func `a demand that the client's own login could not meet is doubtful`() async throws {
        try await Installation.withSchema { installation in
            func warns(_ arguments: String...) async throws -> Bool {
                let outcome = try await installation.run(arguments)
                #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
                return outcome.errors.contains("warning: app: ") && outcome.errors.contains("--self-exchange")
            }
            #expect(try await warns("client", "add", "app", "--audience", "a", "--max-auth-age", "12h"))
            #expect(try await warns("client", "update", "app", "--min-acr", "urn:loa:2"))
            #expect(try await !warns("client", "update", "app", "--self-exchange"))
            try await installation.succeed("group", "add", "vendor", "--issuer", Installation.identityProvider)
            try await installation.succeed("group", "member", "add", "vendor", "app", "--role", "target")
            #expect(try await warns("client", "update", "app", "--max-auth-age", "1h"))
            try await installation.succeed("group", "member", "add", "vendor", "app", "--role", "both")
            #expect(try await !warns("client", "update", "app", "--max-auth-age", "2h"))
            #expect(
                try await !warns("client", "update", "app", "--no-self-exchange", "--no-max-auth-age", "--no-min-acr"))
        }
    }

    @Test func `what is not there is exit 1`() async throws {
        try await Installation.withSchema { installation in
            for arguments in [
                ["client", "show", "nobody"], ["client", "disable", "nobody"], ["client", "remove", "nobody"],
                ["group", "show", "nothing"], ["group", "remove", "nothing"], ["scope", "remove", "nothing"],
                ["group", "member", "remove", "nothing", "nobody"], ["session", "show", "--sid", "x"],
                ["session", "show", "--sid", "-x"],
                ["session", "end", "--sid", "x"], ["group", "member", "add", "nothing", "nobody", "--role", "both"],
            ] {
                let outcome = try await installation.run(arguments)
                #expect(outcome.status == 1, "\(arguments): \(outcome.errors)")
                #expect(outcome.output.isEmpty)
            }
        }
    }

    @Test func `what is added again keeps what is not given`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let member = ["group", "member", "add", "vendor", "app2", "--role", "target"]
            func ceiling(_ arguments: String...) async throws -> [String]? {
                let outcome = try await installation.run(["--json"] + member + arguments)
                return try JSONReader.parse(Array(outcome.output.utf8)).object?.strings("scope_ceiling")
            }
            #expect(try await ceiling("--scope-ceiling", "openid") == ["openid"])
            #expect(try await ceiling() == ["openid"])
            #expect(try await ceiling("--no-scope-ceiling") == nil)
            #expect(try await ceiling() == nil)
            func handoff(_ arguments: String...) async throws -> JSONObject {
                let outcome = try await installation.run(["--json"] + member + arguments)
                return try #require(try JSONReader.parse(Array(outcome.output.utf8)).object)
            }
            let origins = ["https://web.example.com", "http://localhost:9000"]
            let given = try await handoff(
                "--handoff", "dpop", "--handoff-origin", origins[0], "--handoff-origin", origins[1])
            #expect(given.string("handoff") == "dpop" && given.strings("handoff_origins") == origins)
            let kept = try await handoff()
            #expect(kept.string("handoff") == "dpop" && kept.strings("handoff_origins") == origins)
            let removed = try await handoff("--no-handoff", "--no-handoff-origins")
            #expect(removed.string("handoff") == nil && removed.strings("handoff_origins") == nil)

            try await installation.succeed("scope", "add", "orders", "--requires-consent")
            #expect(try await installation.object("scope", "add", "orders").bool("requires_consent") == true)
            let off = try await installation.object("scope", "add", "orders", "--no-requires-consent")
            #expect(off.bool("requires_consent") == false)
        }
    }

    @Test func `what would be destroyed is shown first, and destroyed with --execute and --reason`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.succeed("scope", "add", "orders", "--requires-consent")
            let recorded = try await installation.audit().count
            let commands = [
                ["scope", "remove", "orders"], ["group", "member", "remove", "vendor", "app2"],
                ["client", "remove", "app1"], ["group", "remove", "vendor"],
            ]
            for command in commands {
                let plan = try await installation.run(command)
                #expect(plan.status == 0)
                #expect(plan.output.hasPrefix("would remove "))
                #expect(plan.output.contains("Nothing was changed"))
                let unexplained = try await installation.run(command + ["--execute"])
                #expect(unexplained.status == 2)
            }
            #expect(try await installation.audit().count == recorded)
            for command in commands {
                let done = try await installation.run(command + ["--execute", "--reason", "cleaning up"])
                #expect(done.status == 0, "\(done.errors)")
                #expect(done.output.hasPrefix("done: remove "))
            }
            let audit = try await installation.audit()
            #expect(audit.count == recorded + commands.count)
            #expect(audit.suffix(commands.count).allSatisfy { $0.contains("cleaning up") })
        }
    }

    @Test func `the audit knows who and why`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["scope", "add", "orders", "--reason", "price list"], environment: ["SUDO_USER": "alice\u{1B}[2J"])
            #expect(outcome.status == 0)
            let last = try #require(try await installation.audit().last)
            #expect(last.hasPrefix("scope_set|"))
            #expect(last.contains(#"(sudo alice\u{1b}[2J)|price list|"#))
        }
    }

    // MARK: Arguments

    static let wrong: [[String]] = [
        ["frobnicate"], ["client"], ["client", "list", "extra"], ["client", "list", "--secret", "hunter2"],
        ["client", "add", "", "--audience", "a"], ["client", "add", "app"],
        ["client", "add", "app", "--audience", "a", "--audience", "a"],
        ["client", "add", "app", "--audience", "a", "--access-token-lifetime", "-5m"],
        ["client", "add", "app", "--audience", "a", "--access-token-lifetime", "5"],
        ["client", "add", "app", "--audience", "a", "--refresh-token-lifetime", "401d"],
        ["client", "update", "app", "--refresh-token-lifetime", "110000000d"],
        ["client", "add", "app", "--audience", "a", "--access-token-lifetime", "99999999999999999999d"],
        ["client", "add", "app", "--audience", "a", "--allowed-scope", "a  b"],
        ["client", "add", "app", "--audience", "a", "--allowed-scope", "a", "--default-scope", "b"],
        ["client", "update", "app", "--min-acr", "a", "--no-min-acr"], ["client", "update", "app", "--min-acr", "a b"],
        ["client", "update", "app", "--max-auth-age", "12h", "--no-max-auth-age"],
        ["client", "update", "app", "--max-auth-age", "0s"], ["client", "update", "app", "--max-auth-age", "401d"],
        ["client", "add", "\u{1B}[2J", "--audience", "a"], ["scope", "add", "two words"],
        ["group", "member", "add", "g", "c", "--role", "king"],
        ["group", "member", "add", "g", "c", "--role", "both", "--scope-ceiling", "a", "--no-scope-ceiling"],
        ["group", "member", "add", "g", "c", "--role", "both", "--handoff", "always"],
        ["group", "member", "add", "g", "c", "--role", "both", "--handoff", "dpop", "--no-handoff"],
        ["group", "member", "add", "g", "c", "--role", "both", "--handoff-origin", "https://web.example.com/path"],
        ["session", "end"],
        ["session", "end", "--all", "--sub", "x"],
        ["session", "list", "--sid", "a", "--sub", "b"], ["session", "list", "--limit", "0"],
        ["key", "generate", "--algorithm", "HS256"], ["key", "generate", "--bits", "1024"],
        ["key", "generate", "--use", "everything"], ["key", "remove"], ["key", "remove", "kid", "--execute"],
        ["key", "publish", "kid", "--force"],
        ["client", "add", "app", "--audience", String(repeating: "a", count: 100_000)],
    ]

    @Test(arguments: wrong)
    func `what makes no sense is exit 2, with nothing on standard output`(arguments: [String]) async throws {
        // The command needs no configuration for this error.
        let outcome = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"), arguments + ["--config", "/nonexistent"])
        #expect(outcome.status == 2, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(!outcome.errors.isEmpty)
        #expect(!outcome.errors.contains("\u{1B}"))
    }

    @Test func `metacharacters are a name like any other`() async throws {
        try await Installation.withSchema { installation in
            let name = "'; DROP TABLE native_sso.client; --"
            try await installation.succeed("client", "add", "--audience", "a", "--", name)
            #expect(try await installation.object("client", "show", "--", name).string("client_id") == name)
        }
    }

    @Test func `a reader who goes away is no failure`() async throws {
        try await Installation.withSchema { installation in
            let command =
                "\(try BuildProducts.path(of: "native-sso")) key list --config \(installation.file("administration.yaml"))"
            let run = try ProgramRun(
                ["/bin/bash", "-c", "{ \(command) 2>&4; echo $? >&4; } 4>&2 | true"],
                environment: ChildProcess.bareEnvironment, inOwnSession: true, within: .seconds(60))
            #expect(run.status == 0 && run.errors == "0\n")
        }
    }
}
