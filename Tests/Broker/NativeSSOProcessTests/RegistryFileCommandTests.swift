import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("A registry in a file", .timeLimit(.minutes(10)))
struct RegistryFileCommandTests {
    private static let issuer = Installation.identityProvider

    private static let file = """
        name: mobile
        clients:
          - client_id: app1
            audiences: [https://api.example.com]
            allowed_scope: [openid, orders]
            default_scope: [openid]
            dpop: required
          - client_id: app2
            audiences: [https://api.example.com]
            allowed_scope: [openid]
            access_token_lifetime: 2m
        groups:
          - group_id: vendor
            issuer: \(issuer)
            members:
              - client_id: app1
                role: source
              - client_id: app2
                role: both
                scope_ceiling: [openid]
                handoff: bearer
                handoff_origins: ["https://web.example.com"]
        scopes:
          - scope: payments
            requires_consent: true
        """

    private func apply(
        _ installation: Installation, _ text: String, _ options: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let file = installation.file("registry.yaml")
        try installation.write(text, to: "registry.yaml")
        let plan = try await installation.command("registry", "plan", file)
        let serial = String(try #require(plan.firstMatch(of: /serial ([0-9]+)/)).output.1)
        let outcome = try await installation.run(
            ["registry", "apply", file, "--serial", serial, "--execute", "--reason", "test"] + options)
        #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
        return outcome.output
    }

    /// What is registered, whoever manages it.
    private func registered(_ installation: Installation) async throws -> String {
        try await installation.cluster.psql(
            """
            SELECT to_jsonb(c) - 'created_at' - 'managed_by' FROM native_sso.client c ORDER BY client_id;
            SELECT to_jsonb(g) - 'created_at' - 'managed_by' FROM native_sso.sharing_group g ORDER BY group_id;
            SELECT to_jsonb(m) - 'managed_by' FROM native_sso.sharing_group_member m ORDER BY group_id, client_id;
            SELECT to_jsonb(s) - 'managed_by' FROM native_sso.scope s ORDER BY name
            """, database: installation.database)
    }

    @Test func `a file makes the registry, once, as the commands would`() async throws {
        try await Installation.withSchema { installation in
            try installation.write(Self.file, to: "registry.yaml")
            let plan = try await installation.command("registry", "plan", installation.file("registry.yaml"))
            #expect(plan.contains("+ client app1\n") && plan.contains("    dpop: required\n"), "\(plan)")
            #expect(plan.contains("6 changes at serial 1. Nothing was changed."), "\(plan)")
            #expect(try await registered(installation).isEmpty)
            let done = try await apply(installation, Self.file)
            #expect(done.contains("done: 6 changes; serial 2."), "\(done)")
            var client = try await installation.object("client", "show", "app1")
            #expect(client.string("dpop") == "required" && client.strings("grants")?.count == 2)
            let kinds = try await installation.audit().map { $0.prefix { $0 != "|" } }
            #expect(kinds.contains("client_added") && kinds.contains("group_member_set"))
            #expect(kinds.count { $0 == "registry_applied" } == 1)
            #expect(try await apply(installation, Self.file) == "nothing to change; serial 2\n")

            // A setting that the file no longer gives stays.
            _ = try await apply(
                installation,
                "name: mobile\nclients: [{client_id: app1, audiences: [b]}]\nscopes: [{scope: payments}]")
            client = try await installation.object("client", "show", "app1")
            #expect(client.string("dpop") == "required" && client.strings("audiences") == ["b"])
            #expect(try await registered(installation).contains(#""requires_consent": true"#))
            // What the file no longer has stays too, without --prune.
            #expect(try await installation.object("client", "list").array("clients")?.count == 2)
            _ = try await apply(
                installation,
                """
                name: mobile
                groups:
                  - group_id: vendor
                    issuer: \(Self.issuer)
                    members: [{client_id: app2, role: both, scope_ceiling: none}]
                """)
            let members = try await installation.object("group", "show", "vendor").array("members")
            #expect(members?.last?.object?.strings("scope_ceiling") == nil)
            #expect(members?.last?.object?.string("handoff") == "bearer")
            #expect(members?.last?.object?.strings("handoff_origins") == ["https://web.example.com"])
        }
    }

    @Test func `an export applied again changes nothing`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.command(
                "client", "update", "app1", "--min-acr", "urn:loa:3", "--max-auth-age", "12h", "--claim",
                "email",
                "--self-exchange", "--dpop", "required", "--refresh-token-lifetime", "90d")
            try await installation.command(
                "client", "add", "web", "--authentication", "client_secret_basic", "--audience", "a \"b\" #: c")
            let secret = try await installation.rotateSecret(of: "web")
            try await installation.command("scope", "add", "orders", "--requires-consent")
            try await installation.command(
                "group", "member", "add", "vendor", "app2", "--role", "target", "--scope-ceiling", "openid")
            let before = try await registered(installation)

            let file = installation.file("exported.yaml")
            try await installation.command("registry", "export", file)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(!text.contains(secret))
            let again = try await installation.run(["registry", "export", file])
            #expect(again.status == 1 && again.errors.contains("exists already"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)

            #expect(try await installation.object("registry", "plan", file).array("changes")?.count == 0)
            // From now on the file manages all of it; nothing else changes.
            #expect(try await apply(installation, text).contains("done: 0 changes"))
            #expect(try await registered(installation) == before)
            #expect(try await apply(installation, text).hasPrefix("nothing to change"))
            #expect(try await installation.command("registry", "export") == text)

            // It makes the same registry elsewhere.
            try await Installation.withSchema { other in
                _ = try await apply(other, text)
                #expect(try await registered(other) == before)
            }
        }
    }

    @Test func `a plan says how many live grants end, and prune removes only what the file managed`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            try await installation.command("client", "add", "by-hand", "--audience", "a")
            try await installation.command("registry", "export", installation.file("all.yaml"), "--name", "mobile")
            let all = try String(contentsOfFile: installation.file("all.yaml"), encoding: .utf8)
            let mine = all.replacing("by-hand", with: "other")
            _ = try await apply(installation, mine)

            // app2 goes, with its membership.
            let less = "name: mobile\nclients: [{client_id: app1}, {client_id: other}]\n"
            try installation.write(less, to: "registry.yaml")
            let file = installation.file("registry.yaml")
            let kept = try await installation.command("registry", "plan", file)
            #expect(kept.contains("client app2 is no longer in the file; --prune removes it"), "\(kept)")
            let plan = try await installation.command("registry", "plan", file, "--prune")
            #expect(plan.contains("- client app2\n    2 live grants end\n"), "\(plan)")
            #expect(plan.contains("in all: 2 live grants to end, 0 live grants to be refused"), "\(plan)")
            _ = try await apply(installation, less, "--prune")
            let clients = try await installation.object("client", "list").array("clients")?.compactMap {
                $0.object?.string("client_id")
            }
            #expect(clients == ["app1", "by-hand", "other"])
            #expect(
                try await installation.cluster.psql(
                    "SELECT count(*) FROM native_sso.sso_grant", database: installation.database) == "0\n")
        }
    }

    @Test func `two groups that exchange their names end nothing`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            try await installation.command("group", "add", "spare", "--issuer", Self.issuer)
            try await installation.command("client", "add", "app3", "--audience", "a")
            try await installation.command("group", "member", "add", "spare", "app3", "--role", "both")
            let report = try await apply(
                installation,
                """
                name: mobile
                groups:
                  - group_id: spare
                    issuer: \(Self.issuer)
                    members: [{client_id: app1, role: source}, {client_id: app2, role: both}]
                  - group_id: vendor
                    issuer: \(Self.issuer)
                    members: [{client_id: app3, role: both}]
                """)
            #expect(report.contains("> member app2 of group spare\n    group_id: vendor -> spare\n"), "\(report)")
            #expect(!report.contains("live grant"), "\(report)")
            let spare = try await installation.object("group", "show", "spare").array("members")
            #expect(spare?.compactMap { $0.object?.string("client_id") } == ["app1", "app2"])

            // A group of one alone shares nothing.
            try installation.write(
                "name: mobile\ngroups: [{group_id: vendor, issuer: \(Self.issuer), members: [{client_id: app1, role: both}]}]",
                to: "registry.yaml")
            let plan = try await installation.command("registry", "plan", installation.file("registry.yaml"))
            #expect(plan.contains("    2 live grants are refused from the next refresh on\n"), "\(plan)")
        }
    }
}
