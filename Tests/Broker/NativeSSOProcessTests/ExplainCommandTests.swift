import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso explain", .timeLimit(.minutes(10)))
struct ExplainCommandTests {
    /// The events of one request id. The broker writes the audit of refusals after the answer.
    private func events(
        _ requestID: String, _ installation: Installation, atLeast count: Int = 1
    ) async throws -> [JSONObject] {
        try await eventually("\(count) events of \(requestID)") {
            let outcome = try await installation.run(["--json", "explain", requestID])
            guard outcome.status == 0 else {
                try #require(outcome.status == 1, "\(outcome.errors)")
                return nil
            }
            let report = try #require(try JSONReader.parse(Array(outcome.output.utf8)).object)
            #expect(report.string("request_id") == requestID)
            let events = try #require(report.array("events")).compactMap(\.object)
            return events.count < count ? nil : events
        }
    }

    /// `printf s-1 | sha256sum`.
    private static let digest = "6a840baf5d8c3ff241688aeb14546e653774cd5387faf1cb982b0fbbf1fbb810"

    @Test func `a request is explained by the broker's id, with the trace of a trusted proxy and without secrets`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try installation.startBroker("traced") { $0.trustedProxies = ["127.0.0.1"] }
            try await broker.untilReady()
            let login = try Login(installation, sid: "s-1")
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let traced = (name: "traceparent", value: "00-\(trace)-00f067aa0ba902b7-01")

            let exchange = try await HTTPRequest.token(login.exchange(by: "app2").parameters, fields: [traced])
                .send(to: broker.publicPort)
            #expect(exchange.status == 200, "\(exchange.text)")
            // An id that a caller sends names nothing.
            let forged = [traced, (name: "x-request-id", value: exchange.requestID)]
            let beyond = try await HTTPRequest.token(
                login.exchange(by: "app2", scope: "openid payments").parameters, fields: forged
            ).send(to: broker.publicPort)
            #expect(beyond.requestID != exchange.requestID)
            let granted = try #require(try await events(exchange.requestID, installation).first)
            let refused = try #require(try await events(beyond.requestID, installation).first)
            #expect(granted.string("kind") == "exchange_granted" && refused.string("kind") == "exchange_refused")
            #expect(granted.string("sid_sha256") == Self.digest && granted.string("group_id") == "vendor")
            #expect(refused.string("reason") == "scope_exceeds_client" && refused.string("source_client") == "app1")
            #expect(refused.string("session_id") == granted.string("session_id"))
            for (answer, event) in [(exchange, granted), (beyond, refused)] {
                #expect(event.string("trace_id") == trace)
                #expect(try await installation.command("explain", answer.requestID).contains("Trace \(trace)"))
                #expect(try await installation.command("audit", "search", trace).contains(answer.requestID))
            }

            // A replay leaves two events under one id: the refusal, and the revocation.
            let first = try #require(exchange.json?.string("refresh_token"))
            var token = first
            for _ in 1...2 {
                token = try #require(
                    try await broker.token(Login.refresh(token, by: "app2")).json?.string("refresh_token"))
            }
            let replay = try await broker.token(Login.refresh(first, by: "app2"))
            #expect(replay.status == 400)
            let both = try await events(replay.requestID, installation, atLeast: 2)
            #expect(both.compactMap { $0.string("kind") }.sorted() == ["grant_revoked", "refresh_refused"])
            #expect(both.allSatisfy { $0.string("reason") == "refresh_token_reused" })
            #expect(Set(both.map { $0.string("grant_id") }) == [granted.string("grant_id")])
            let shown = try await installation.command("explain", replay.requestID)
            #expect(shown.contains("two parties hold it"))
            for secret in [login.idToken, login.deviceSecret, first, token] { #expect(!shown.contains(secret)) }
            try await broker.stop()
        }
    }

    @Test func `which rule keeps two apps from sharing logins, and from a hand-off to a web app`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            for (app, options) in [("app3", []), ("app4", []), ("web", ["--authentication", "client_secret_basic"])] {
                try await installation.command(
                    [
                        "client", "add", app, "--audience", "https://api.example.com", "--allowed-scope",
                        "openid orders", "--default-scope", "openid orders",
                    ] + options)
            }
            func put(_ member: String) async throws {
                try await installation.command(
                    ["group", "member", "add"] + member.split(separator: " ").map(String.init))
            }
            try await installation.command("group", "add", "other", "--issuer", Installation.identityProvider)
            try await put("other app3 --role both")

            /// The reasons of the first rule that refuses.
            func reasons(
                _ from: String, _ to: String, _ more: String...
            ) async throws -> (sharing: String?, handoff: String?) {
                let outcome = try await installation.run(["--json", "explain", "--from", from, "--to", to] + more)
                // It has many members: every rule of every answer.
                let json = try JSONReader.parse(Array(outcome.output.utf8), limits: JSONLimits(members: 10_000))
                let report = try #require(json.object, "\(outcome.errors)")
                let answers = try #require(report.array("answers")).compactMap(\.object)
                // One answer for each profile of the identity provider, by the same rules.
                #expect(Set(answers.map { $0.string("reason") }).count == 1)
                #expect(report.bool("may_share") == (outcome.status == 0))
                #expect(outcome.status == 0 || outcome.status == 1 && answers.first?.string("cause") != nil)
                let handoff = try #require(answers.first?.object("handoff"))
                #expect(handoff.bool("permitted") == (handoff.string("reason") == nil))
                return (answers.first?.string("reason"), handoff.string("reason"))
            }
            #expect(try await reasons("app1", "app2").sharing == nil)
            #expect(try await reasons("app2", "app1").sharing == "direction_forbidden")
            #expect(try await reasons("app1", "app3").sharing == "group_mismatch")
            #expect(try await reasons("app1", "app4").sharing == "client_not_in_group")
            #expect(try await reasons("app4", "app2").sharing == "source_not_in_group")
            #expect(try await reasons("app2", "app2").sharing == "self_exchange")
            #expect(try await reasons("app1", "app2", "--profile", "device-id").sharing == "profile_not_enabled")
            #expect(try await reasons("app1", "app2", "--scope", "openid x").sharing == "scope_exceeds_client")
            try await put("vendor app4 --role target --scope-ceiling openid")
            #expect(try await reasons("app1", "app4").sharing == "scope_exceeds_member")
            #expect(try await reasons("app1", "app4", "--scope", "openid").sharing == nil)
            try await installation.expectFailure(
                ["explain", "--from", "app1", "--to", "app2", "--issuer", "https://other.example.com"], 1,
                "is not configured")

            try await put("vendor web --role target")
            try await put("vendor app2 --role both --handoff bearer")
            #expect(try await reasons("app2", "web").handoff == "handoff_origin_not_registered")
            try await put("vendor web --role target --handoff-origin https://web.example.com")
            #expect(try await reasons("app2", "web").handoff == nil)
            #expect(try await installation.command("group", "graph").contains("-->|\"hand-off\"|"))

            try await installation.command(
                "idp", "suspend", Installation.identityProvider, "--execute", "--reason", "stolen keys")
            let suspended = try await reasons("app2", "web")
            #expect(suspended.sharing == "idp_suspended" && suspended.handoff == "idp_suspended")
            #expect(try await installation.command("group", "graph").contains("-->|\"no hand-off: idp_suspended\"|"))
            try await installation.command(
                "idp", "resume", Installation.identityProvider, "--execute", "--reason", "new keys")

            try await installation.command("scope", "add", "orders", "--requires-consent")
            #expect(try await reasons("app1", "app2", "--scope", "openid orders").sharing == "consent_required")
            try await installation.command("client", "disable", "app2")
            #expect(try await reasons("app1", "app2").sharing == "client_disabled")
        }
    }

    @Test func `every rule that refuses a login is shown, in the order in which the broker asks`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            let act = ["--execute", "--reason", "lost"]
            for command in [
                ["session", "end", "--sid", "sid-1"], ["device", "block", SessionCommandTests.firstDevice],
                ["client", "update", "app2", "--max-auth-age", "1h"], ["scope", "add", "openid", "--requires-consent"],
                ["client", "disable", "app2"],
            ] {
                try await installation.command(command + act)
            }
            let outcome = try await installation.run(["--json", "explain", "--to", "app2", "--sid", "sid-1"])
            let json = try JSONReader.parse(Array(outcome.output.utf8), limits: JSONLimits(members: 10_000))
            let answer = try #require(json.object?.array("answers")?.first?.object, "\(outcome.errors)")
            let failing = try #require(answer.array("rules")).compactMap(\.object).filter {
                $0.bool("passes") == false
            }
            #expect(
                failing.compactMap { $0.string("reason") } == [
                    "client_disabled", "session_ended", "device_blocked", "consent_required", "assurance_insufficient",
                ])
            #expect(failing.dropFirst().first?.string("saw")?.contains("(operator)") == true)
            #expect(outcome.status == 1 && answer.string("reason") == "client_disabled")
            try await installation.expectFailure(
                ["explain", "--to", "app2", "--sid", "unknown"], 1, "no session has this name or user")
        }
    }
}
