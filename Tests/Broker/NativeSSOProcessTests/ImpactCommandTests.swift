import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("Changes say how many live users and grants they touch, before they are made", .timeLimit(.minutes(10)))
struct ImpactCommandTests {
    /// Two live grants of app2, made of one user's logins by app1, and a client without any.
    private static func with(_ body: @Sendable (Installation) async throws -> Void) async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            try await installation.command("client", "add", "quiet", "--audience", "a")
            try await body(installation)
        }
    }

    /// Runs a command without `--execute`, which must change nothing, and then with it.
    private func expect(
        _ command: [String], _ action: String, _ lines: [String], _ installation: Installation,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let export = ["registry", "export"]
        let before = try await installation.run(export).output
        let plan = try await installation.run(command)
        #expect(plan.status == 0, "\(plan.errors)", sourceLocation: sourceLocation)
        let shown = plan.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(shown.first == "would \(action)", "\(plan.output)", sourceLocation: sourceLocation)
        for line in lines { #expect(shown.contains(line), "\(line): \(plan.output)", sourceLocation: sourceLocation) }
        #expect(shown.last?.hasPrefix("Nothing was changed.") == true, sourceLocation: sourceLocation)
        #expect(try await installation.run(export).output == before, sourceLocation: sourceLocation)
        let done = try await installation.run(command + ["--execute", "--reason", "test"])
        #expect(done.status == 0, "\(done.errors)", sourceLocation: sourceLocation)
        #expect(done.output.hasPrefix("done: \(action)\n"), "\(done.output)", sourceLocation: sourceLocation)
        #expect(try await installation.run(export).output != before, sourceLocation: sourceLocation)
    }

    private static let refused = "2 live grants are refused from the next refresh on"
    private static let refusedInAll = "in all: 0 live grants to end, 2 live grants to be refused, of 1 user"

    private static let act = ["--execute", "--reason", "undo"]
    private static let join = ["group", "member", "add", "vendor"]

    /// A change, what it says, and the commands that take it back.
    private static let changes: [(command: [String], action: String, lines: [String], undo: [[String]])] = [
        (
            ["client", "update", "app2", "--dpop", "required"], "update client app2",
            [
                "dpop: off -> required", "2 live grants follow from the next refresh on",
                "in all: 2 live grants of 1 user",
            ], [["client", "update", "app2", "--dpop", "off"] + act]
        ),
        (
            ["client", "disable", "app2"], "disable client app2",
            ["enabled: yes -> no", "2 live grants are refused until the client is enabled again", refusedInAll],
            [["client", "enable", "app2"]]
        ),
        (
            ["scope", "add", "openid", "--requires-consent"], "update scope openid",
            [
                "requires_consent: no -> yes",
                "no exchange grants it any more; 2 live grants of 1 user that have it keep it",
            ], []
        ),
        (
            join + ["app2", "--role", "source"], "put client app2 (source) into group vendor", [refused, refusedInAll],
            [join + ["app2", "--role", "both"] + act]
        ),
        (
            ["group", "member", "remove", "vendor", "app2"], "remove client app2 (both) from group vendor",
            [refused, refusedInAll], [join + ["app2", "--role", "both"] + act]
        ),
        (
            ["group", "member", "remove", "vendor", "app1"], "remove client app1 (source) from group vendor",
            [refused, refusedInAll], [join + ["app1", "--role", "source"] + act]
        ),
        (
            ["group", "remove", "vendor"], "remove group vendor of \(Installation.identityProvider)",
            [refused, refusedInAll],
            [
                ["group", "add", "vendor", "--issuer", Installation.identityProvider],
                join + ["app1", "--role", "source"] + act, join + ["app2", "--role", "both"] + act,
            ]
        ),
        (
            ["client", "remove", "app2"], "remove client app2",
            [
                "it leaves group vendor", "2 live grants end",
                "in all: 2 live grants to end, 0 live grants to be refused, of 1 user",
            ], []
        ),
    ]

    @Test func `a change that touches live grants is shown first, by the same rule as registry plan`() async throws {
        try await Self.with { installation in
            try installation.write("name: r\nclients: [{client_id: app2, dpop: required}]\n", to: "registry.yaml")
            let plan = try await installation.command("registry", "plan", installation.file("registry.yaml"))
            for line in Self.changes[0].lines.dropFirst() { #expect(plan.contains(line), "\(plan)") }
            try await installation.command("scope", "add", "openid")
            try await installation.command("group", "add", "other", "--issuer", Installation.identityProvider)
            for arguments in [[], ["--execute", "--reason", "test"]] {
                try await installation.expectFailure(
                    ["group", "member", "add", "other", "app2", "--role", "both"] + arguments, 1,
                    "client app2 is in group vendor")
            }
            for (command, action, lines, undo) in Self.changes {
                try await expect(command, action, lines, installation)
                for command in undo { try await installation.command(command) }
            }
        }
    }

    @Test func `a change without effect, or that touches no live grant, is made at once`() async throws {
        try await Self.with { installation async throws in
            for (command, member, value) in [
                (["client", "update", "app2", "--dpop", "off"], "client_id", .string("app2")),
                (["client", "update", "quiet", "--dpop", "required"], "dpop", .string("required")),
                (["client", "disable", "quiet"], "enabled", .bool(false)),
                // A member that shares nothing yet, and a role that takes nothing away.
                (["group", "member", "add", "vendor", "quiet", "--role", "both"], "role", .string("both")),
                (["group", "member", "add", "vendor", "app1", "--role", "both"], "role", .string("both")),
                (["scope", "add", "payments", "--requires-consent"], "requires_consent", .bool(true)),
                (["client", "update", "app2", "--dpop", "required"], "executed", .bool(false)),
            ] as [([String], String, JSONValue)] {
                #expect(try await installation.object(command)[member] == value, "\(command)")
            }
        }
    }

    @Test func `the last credentials of a client, a key of the broker`() async throws {
        try await Self.with { installation in
            try await installation.command(
                "client", "add", "server", "--audience", "a", "--authentication", "client_secret_basic")
            _ = try await installation.cluster.psql(
                """
                INSERT INTO native_sso.sso_grant (grant_id, session_id, client_id, source_client_id, device_digest,
                    generation, rotated_at, scope, audiences, amr, created_at, expires_at)
                SELECT '20000000-0000-7000-8000-000000000001', session_id, 'server', 'app1', device_digest, 1, now(),
                    '{openid}', '{a}', '{}', now(), now() + interval '1 day'
                FROM native_sso.session ORDER BY session_id LIMIT 1
                """, database: installation.database)
            let digest = try #require(
                try await installation.object("client", "secret", "rotate", "server").string("digest"))
            var plan = try await installation.command("client", "secret", "retire", "server", digest)
            #expect(plan.contains("it is the only one") && plan.contains("the client has 1 live grant of 1 user"))
            try await installation.command("client", "secret", "rotate", "server")
            plan = try await installation.command("client", "secret", "retire", "server", digest)
            #expect(plan.contains("the other one stays valid"), "\(plan)")

            let old = try #require(
                try await installation.object("key", "list").array("keys")?.compactMap(\.object).first {
                    $0.string("use") == "refresh-token"
                }?.string("kid"))
            let made = try await installation.object("key", "generate", "--use", "refresh-token")
            let new = try #require(made.array("keys")?.first?.object?.string("kid"))
            // A kid may begin with a hyphen.
            try await installation.command("key", "activate", "--force", "--execute", "--reason", "test", "--", new)
            plan = try await installation.command("key", "remove", "--force", "--", old)
            #expect(plan.contains("at most 3 live token families have a refresh token of it"), "\(plan)")
        }
    }
}
