import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

@Suite("The administration commands, as processes on a database", .timeLimit(.minutes(10)))
struct AdministrationCommandTests {
    @Test func `a database that is away is named without its password, and so is one that refuses`() async throws {
        try await Installation.withFiles { installation in
            let away = try await installation.run(
                ["client", "list", "--json"],
                environment: ["NATIVE_SSO_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"])
            #expect(away.status == 3)
            let error = try #require(try JSONReader.parse(Array(away.errors.utf8)).object)
            #expect(error.string("error") == "infrastructure")
            #expect(error.string("message")?.hasSuffix("port 1 failed: Connection refused") == true)
            #expect(!away.errors.contains(installation.cluster.password))

            try installation.write("open-sesame", to: "database-password")
            for command in [["client", "list"], ["migrate", "up"]] {
                let refused = try await installation.run(command)
                #expect(refused.status == 3)
                #expect(refused.errors.contains("28P01: password authentication failed for user"), "\(refused.errors)")
                #expect(!refused.errors.contains("sesame"))
            }
        }
    }

    // MARK: Clients, groups, scopes

    private static let grants = ("refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange")

    /// Arguments of `client update`, and the member of its answer that they set.
    private static let settings: [(arguments: [String], member: String, value: JSONValue)] = [
        (["--allowed-scope", "openid"], "allowed_scope", list("openid")),
        (["--dpop", "required"], "dpop", .string("required")),
        (
            ["--introspects", "https://a.example.com", "https://b.example.com"], "introspects",
            list("https://a.example.com", "https://b.example.com")
        ),
        (["--claim", "email", "--claim", "roles"], "copied_claims", list("email", "roles")),
        (["--no-claim"], "copied_claims", list()),
        (["--assertion-audience", "token_endpoint"], "assertion_audience", .string("token_endpoint")),
        (["--assertion-lifetime", "1h"], "assertion_lifetime", .string("1h")),
        (["--min-acr", "urn:loa:3", "urn:loa:2"], "accepted_acr", list("urn:loa:3", "urn:loa:2")),
        (["--max-auth-age", "12h"], "maximum_authentication_age", .string("12h")),
        (["--no-min-acr"], "accepted_acr", list()),
        (["--dpop", "required"], "maximum_authentication_age", .string("12h")),
        (["--no-max-auth-age"], "maximum_authentication_age", .null),
        // RFC 6749 §5.2: any other grant type of this client is `unauthorized_client`.
        (["--grant", "token-exchange"], "grants", list(grants.1)), (["--grant", grants.0], "grants", list(grants.0)),
        (["--grant", grants.1, grants.0], "grants", list(grants.0, grants.1)),
    ]

    private static func list(_ texts: String...) -> JSONValue { .array(texts.map { .string($0) }) }

    @Test func `client update sets what is given and keeps the rest`() async throws {
        try await Installation.withSchema { installation in
            var client = try await installation.object(
                "client", "add", "app1", "--audience", "https://a.example.com", "--allowed-scope", "openid orders",
                "--default-scope", "openid", "--access-token-lifetime", "2m")
            #expect(client.strings("allowed_scope") == ["openid", "orders"] && client.string("dpop") == "off")
            for (arguments, member, value) in Self.settings {
                client = try await installation.object(["client", "update", "app1"] + arguments)
                #expect(client[member] == value, "\(arguments)")
            }
            #expect(try await installation.object("client", "disable", "app1").bool("enabled") == false)
            client = try await installation.object("client", "enable", "app1")
            #expect(client.bool("enabled") == true && client.string("dpop") == "required")
            #expect(client.string("access_token_lifetime") == "2m")
        }
    }

    @Test func `the operator is warned of what no login can use`() async throws {
        try await Installation.withSchema { installation in
            let stepUp = "warning: app: after the login that --min-acr or --max-auth-age sends a user to"
            let commands: [(command: String, warnings: [String]?)] = [
                (
                    "group add g --issuer https://unknown.example.com",
                    ["warning: https://unknown.example.com is the issuer of none of the identity_providers"]
                ),
                ("group add vendor --issuer \(Installation.identityProvider)", []),
                (
                    "client add app --audience a --allowed-scope orders,mail",
                    [
                        "warning: app: orders,mail is one scope with a comma in its name",
                        "warning: app: openid is not among its allowed scopes",
                    ]
                ),
                ("client update app --allowed-scope openid", []), ("client update app --max-auth-age 12h", [stepUp]),
                ("client update app --min-acr urn:loa:2", [stepUp]), ("client update app --self-exchange", []),
                ("group member add vendor app --role target", nil), ("client update app --max-auth-age 1h", [stepUp]),
                ("group member add vendor app --role both", nil), ("client update app --max-auth-age 2h", []),
                ("client update app --no-self-exchange --no-max-auth-age --no-min-acr", []),
            ]
            for (command, warnings) in commands {
                let outcome = try await installation.run(command.split(separator: " ").map(String.init))
                #expect(outcome.status == 0, "\(command): \(outcome.errors)")
                guard let warnings else { continue }
                for warning in warnings { #expect(outcome.errors.contains(warning), "\(command): \(outcome.errors)") }
                if warnings.isEmpty {
                    let isSilent =
                        !outcome.errors.contains("warning: app") && !outcome.errors.contains("warning: https")
                    #expect(isSilent, "\(command): \(outcome.errors)")
                }
            }
        }
    }

    @Test func `what is not there is exit 1`() async throws {
        try await Installation.withSchema { installation in
            for command in [
                "client disable nobody", "client remove nobody", "group show nothing", "group remove nothing",
                "scope remove nothing", "group member remove nothing nobody", "session show --sid x",
                "session show --sid -x", "session end --sid x", "group member add nothing nobody --role both",
                "explain --from nobody --to nobody", "client secret list nobody", "client key list nobody",
                "device show \(String(repeating: "0", count: 64))", "key publish -- no-such-key",
            ] {
                try await installation.expectFailure(command.split(separator: " ").map(String.init), 1, "native-sso: ")
            }
        }
    }

    @Test func `what is added again keeps what is not given`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            func member(_ arguments: String...) async throws -> JSONObject {
                try await installation.object(
                    ["group", "member", "add", "vendor", "app2", "--role", "target"] + arguments)
            }
            #expect(try await member("--scope-ceiling", "openid").strings("scope_ceiling") == ["openid"])
            #expect(try await member().strings("scope_ceiling") == ["openid"])
            #expect(try await member("--no-scope-ceiling").strings("scope_ceiling") == nil)
            let origins = ["https://web.example.com", "http://localhost:9000"]
            let given = try await member(
                "--handoff", "dpop", "--handoff-origin", origins[0], "--handoff-origin", origins[1])
            for answer in [given, try await member()] {
                #expect(answer.string("handoff") == "dpop" && answer.strings("handoff_origins") == origins)
                #expect(answer.strings("scope_ceiling") == nil)
            }
            let removed = try await member("--no-handoff", "--no-handoff-origins")
            #expect(removed.string("handoff") == nil && removed.strings("handoff_origins") == nil)

            try await installation.command("scope", "add", "orders", "--requires-consent")
            #expect(try await installation.object("scope", "add", "orders").bool("requires_consent") == true)
            let off = try await installation.object("scope", "add", "orders", "--no-requires-consent")
            #expect(off.bool("requires_consent") == false)
        }
    }

    @Test func `the audit knows who and why, and metacharacters are a name like any other`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(
                ["scope", "add", "orders", "--reason", "price list"], environment: ["SUDO_USER": "alice\u{1B}[2J"])
            #expect(outcome.status == 0)
            let last = try #require(try await installation.audit().last)
            #expect(last.hasPrefix("scope_set|"))
            #expect(last.contains(#"(sudo alice\u{1b}[2J)|price list|"#))
            let name = "'; DROP TABLE native_sso.client; --"
            try await installation.command("client", "add", "--audience", "a", "--", name)
            #expect(try await installation.object("client", "show", "--", name).string("client_id") == name)
        }
    }

    // MARK: Arguments

    private static let add = ["client", "add", "app", "--audience", "a"]
    private static let update = ["client", "update", "app"]
    private static let member = ["group", "member", "add", "g", "c", "--role", "both"]
    private static let id = "01900000-0000-7000-8000-000000000000"

    static let wrong: [[String]] = [
        ["frobnicate"], ["client"], ["client", "list", "extra"], ["client", "list", "--secret", "hunter2"],
        ["client", "add", "", "--audience", "a"], ["client", "add", "app"], add + ["--audience", "a"],
        add + ["--access-token-lifetime", "-5m"], add + ["--access-token-lifetime", "5"],
        add + ["--access-token-lifetime", "99999999999999999999d"], add + ["--refresh-token-lifetime", "401d"],
        update + ["--refresh-token-lifetime", "110000000d"], add + ["--allowed-scope", "a  b"],
        add + ["--allowed-scope", "a", "--default-scope", "b"], add + ["--signing-algorithm", "HS256"],
        update + ["--min-acr", "a", "--no-min-acr"], update + ["--min-acr", "a b"],
        update + ["--max-auth-age", "12h", "--no-max-auth-age"], update + ["--max-auth-age", "0s"],
        update + ["--max-auth-age", "401d"], update + ["--claim", "sub"], update + ["--grant", "password"],
        update + ["--dpop", "sometimes"], update + ["--authentication", "none"],
        ["client", "add", "\u{1B}[2J", "--audience", "a"],
        ["client", "add", "app", "--audience", String(repeating: "a", count: 100_000)],
        ["scope", "add", "two words"], ["group", "member", "add", "g", "c", "--role", "king"],
        member + ["--scope-ceiling", "a", "--no-scope-ceiling"], member + ["--handoff", "always"],
        member + ["--handoff", "dpop", "--no-handoff"], member + ["--handoff-origin", "https://web.example.com/path"],
        ["registry", "apply", "file", "--execute", "--reason", "x"],
        ["session", "end"], ["session", "end", "--all", "--sub", "x"], ["session", "end", "--all", "--resume", id],
        ["session", "end", "--sub", "x", "--resume", "01900000-0000-4000-8000-000000000000"],
        ["session", "end", "--sub", "x", "--resume", "7fffffff-0000-7000-8000-000000000000"],
        ["session", "list", "--sid", "a", "--sub", "b"], ["session", "list", "--limit", "0"],
        ["session", "list", "--issued-between", "2h"], ["session", "list", "--issued-between", "1h", "2h"],
        ["session", "list", "--idp", "https://idp.example.com", "--sub", "x"],
        ["grant", "revoke"], ["grant", "revoke", "x"], ["grant", "list"], ["device", "show", "x"],
        ["account", "enable", "--sub", "x", "--execute"], ["account", "list", "--after", "x"],
        ["retention", "set"], ["retention", "set", "--session-days", "89"], ["sweep", "--execute"],
        ["explain"], ["explain", "x"], ["explain", "--from", "app1"], ["explain", "--to", "app1"],
        ["explain", "--sid", "s"], ["explain", "--to", "app1", "--sid", "s", "--sub", "x"],
        ["explain", id, "--reason", "client_unknown"],
        ["explain", "--reason", "client_unknown", "--issuer", "https://idp.example.com"],
        ["audit", "list", "--from", "yesterday"], ["audit", "list", "--after", "1.2.3"],
        ["audit", "list", "--limit", "0"], ["audit", "search", ""], ["audit", "tail", "--until", "1h"],
        ["audit", "export", "--follow", "--after", "1.2.3"], ["audit", "export", "--after", "1.2.3.4.5"],
        ["key", "generate", "--algorithm", "HS256"], ["key", "generate", "--bits", "1024"],
        ["key", "generate", "--use", "everything"], ["key", "remove"], ["key", "remove", "kid", "--execute"],
        ["key", "publish", "kid", "--force"], ["key", "suspend"], ["key", "sync", "--from", "/a", "--to", "/b"],
        ["--profile", "support", "session", "list", "--reason", "t"], ["--profile", "support", "client", "list"],
        ["--profile", "support", "session", "end", "--all", "--reason", "t"],
        ["--profile", "support", "migrate", "up"],
    ]

    @Test(arguments: wrong)
    func `what makes no sense is exit 2 before any file is read`(arguments: [String]) async throws {
        let outcome = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso"), arguments + ["--config", "/nonexistent"])
        #expect(outcome.status == 2, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(!outcome.errors.isEmpty && !outcome.errors.contains("cannot open the file"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("\u{1B}"))
    }
}
