import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso explain", .timeLimit(.minutes(10)))
struct ExplainCommandTests {
    /// The kinds and reasons of one request id, in the order of recording.
    private func events(_ requestID: String, _ installation: Installation) async throws -> [JSONObject] {
        // The broker writes the audit of refusals after the answer.
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let outcome = try await installation.run(["--json", "explain", requestID])
            if outcome.status == 0 {
                let report = try #require(try JSONReader.parse(Array(outcome.output.utf8)).object)
                #expect(report.string("request_id") == requestID)
                return try #require(report.array("events")).compactMap(\.object)
            }
            #expect(outcome.status == 1, "\(outcome.errors)")
            try #require(ContinuousClock.now < deadline, "\(outcome.errors)")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func `explain shows the trace of a trusted proxy`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try installation.startBroker("traced") { $0.trustedProxies = ["127.0.0.1"] }
            #expect(try await broker.process.errorLine(containing: #""listening""#) != nil)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "s-1")
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            for (form, kind) in [
                (login.exchange(by: "app2"), "exchange_granted"),
                (login.exchange(by: "app2", scope: "openid payments"), "exchange_refused"),
            ] {
                let answer = try await broker.post(
                    form, header: ("traceparent", "00-\(trace)-00f067aa0ba902b7-01"))
                let event = try #require(try await events(answer.requestID, installation).first)
                #expect(event.string("kind") == kind && event.string("trace_id") == trace)
                #expect(try await installation.succeed("explain", answer.requestID).contains("Trace \(trace)"))
                #expect(try await installation.succeed("audit", "search", trace).contains(answer.requestID))
            }
        }
    }

    /// `printf s-1 | sha256sum`.
    private static let digest = "6a840baf5d8c3ff241688aeb14546e653774cd5387faf1cb982b0fbbf1fbb810"

    @Test func `a login's life, request by request`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "s-1")

            let exchange = try await broker.post(login.exchange(by: "app2"))
            #expect(exchange.status == 200, "\(exchange.text)")
            let granted = try #require(try await events(exchange.requestID, installation).first)
            #expect(granted.string("kind") == "exchange_granted")
            #expect(granted.string("sid_sha256") == Self.digest && granted.string("group_id") == "vendor")
            let sentence = try #require(granted.string("sentence"))
            for name in ["App app2", "app app1", "group vendor", granted.string("session_id") ?? "-"] {
                #expect(sentence.contains(name), "\(sentence)")
            }

            let beyond = try await broker.post(login.exchange(by: "app2", scope: "openid payments"))
            let refused = try #require(try await events(beyond.requestID, installation).first)
            #expect(refused.string("reason") == "scope_exceeds_client")
            #expect(refused.string("session_id") == granted.string("session_id"))
            #expect(refused.string("source_client") == "app1")
            #expect(refused.string("remedy")?.contains("--allowed-scope") == true)

            // A replay leaves two events under one id: the refusal, and the revocation.
            let first = try #require(exchange.json?.string("refresh_token"))
            var token = first
            for _ in 1...2 {
                token = try #require(
                    try await broker.post(Login.refresh(token, by: "app2")).json?.string("refresh_token"))
            }
            let replay = try await broker.post(Login.refresh(first, by: "app2"))
            #expect(replay.status == 400)
            try await broker.wait { _ in try await events(replay.requestID, installation).count == 2 }
            let both = try await events(replay.requestID, installation)
            #expect(Set(both.map { $0.string("kind") }) == ["grant_revoked", "refresh_refused"])
            #expect(both.allSatisfy { $0.string("reason") == "refresh_token_reused" })
            #expect(Set(both.map { $0.string("grant_id") }) == [granted.string("grant_id")])

            let ended = try await installation.run([
                "--json", "session", "end", "--sid", "s-1", "--execute", "--reason", "lost phone",
            ])
            let act = try #require(try JSONReader.parse(Array(ended.output.utf8)).object?.string("request_id"))
            let end = try #require(try await events(act, installation).first)
            #expect(end.string("kind") == "session_ended" && end.string("sid_sha256") == Self.digest)
            #expect(end.string("sentence")?.contains("lost phone") == true)

            let late = try await broker.post(login.exchange(by: "app2"))
            #expect(try await events(late.requestID, installation).first?.string("reason") == "session_ended")

            // The output contains no secret.
            let shown = try await installation.run(["explain", replay.requestID]).output
            for secret in [login.idToken, login.deviceSecret, first, token] { #expect(!shown.contains(secret)) }
            #expect(shown.contains("two parties hold it"))
        }
    }

    @Test func `an id that a caller sends names nothing`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let login = try Login(installation, sid: "s-1")
            let granted = try await broker.post(login.exchange(by: "app2"))
            let forged = try await broker.post(
                login.exchange(by: "app2", scope: "openid payments"), header: ("x-request-id", granted.requestID))
            #expect(forged.requestID != granted.requestID)
            #expect(
                try await events(forged.requestID, installation).map { $0.string("kind") } == ["exchange_refused"])
            #expect(
                try await events(granted.requestID, installation).map { $0.string("kind") } == ["exchange_granted"])
        }
    }

    @Test func `every act of an operator shows the id under which it is recorded`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.succeed("client", "add", "app3", "--audience", "https://api.example.com")
            let commands: [(command: [String], kind: String, words: String)] = [
                (["group", "member", "remove", "vendor", "app2"], "group_member_removed", "from the group vendor"),
                (["client", "remove", "app3"], "client_removed", "removed the client app3"),
                (["group", "remove", "vendor"], "group_removed", "sharing group vendor"),
            ]
            for (command, kind, words) in commands {
                let outcome = try await installation.run(["--json"] + command + ["--execute", "--reason", "ticket 9"])
                #expect(outcome.status == 0, "\(outcome.errors)")
                let id = try #require(try JSONReader.parse(Array(outcome.output.utf8)).object?.string("request_id"))
                let found = try await events(id, installation)
                #expect(found.map { $0.string("kind") } == [kind])
                let sentence = found.first?.string("sentence") ?? ""
                #expect(sentence.contains(words) && sentence.contains("ticket 9"), "\(sentence)")
            }
            let text = try await installation.succeed("client", "remove", "app1", "--execute", "--reason", "x")
            #expect(text.contains("In the audit: native-sso explain "))
        }
    }

    @Test func `tokens that no app received belong to an app's code`() async throws {
        try await Installation.withSchema { installation in
            let id = "01900000-0000-7000-8000-000000000001"
            _ = try await installation.cluster.psql(
                """
                INSERT INTO native_sso.audit_event (occurred_at, kind, request_id, client_id, reason)
                VALUES (now(), 'code_orphaned', '\(id)', 'app1', 'idp_revocation_endpoint_unknown')
                """, database: installation.database)
            let event = try #require(try await events(id, installation).first)
            #expect(
                event.string("sentence")?.contains(
                    "No app received the tokens that the identity provider gave for the code of app app1") == true)
        }
    }

    @Test func `what it cannot know it says, by its exit status, too`() async throws {
        try await Installation.withSchema { installation in
            let unknown = try await installation.run(["explain", "01900000-0000-7000-8000-000000000000"])
            #expect(unknown.status == 1 && unknown.errors.contains("the broker's log has every request"))
            for wrong in [
                ["explain"], ["explain", "x"], ["explain", "--from", "app1"], ["explain", "--to", "app1"],
                ["explain", "--sid", "s-1"], ["explain", "--to", "app1", "--sid", "s-1", "--sub", "user"],
                ["explain", "01900000-0000-7000-8000-000000000000", "--reason", "client_unknown"],
                ["explain", "--reason", "client_unknown", "--issuer", "https://idp.example.com"],
                ["audit", "list", "--kind", "no_such_kind"], ["audit", "list", "--from", "yesterday"],
                ["audit", "list", "--after", "1.2.3"], ["audit", "list", "--limit", "0"],
            ] {
                #expect(try await installation.run(wrong).status == 2, "\(wrong)")
            }
            let reason = try await installation.object("explain", "--reason", "device_hash_mismatch")
            #expect(reason.string("cause")?.contains("device value") == true)
            #expect(try await installation.run(["explain", "--reason", "no_such_reason"]).status == 1)
        }
    }

    /// It has many members: every rule of every answer.
    private static func report(_ output: String) throws -> JSONObject? {
        try JSONReader.parse(Array(output.utf8), limits: JSONLimits(members: 10_000)).object
    }

    @Test func `which rule keeps two apps from sharing logins`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            for app in ["app3", "app4"] {
                try await installation.succeed(
                    "client", "add", app, "--audience", "https://api.example.com", "--allowed-scope", "openid orders",
                    "--default-scope", "openid orders")
            }
            try await installation.succeed("group", "add", "other", "--issuer", Installation.identityProvider)
            try await installation.succeed("group", "member", "add", "other", "app3", "--role", "both")

            func answer(_ from: String, _ to: String, _ more: String...) async throws -> String? {
                let outcome = try await installation.run(["--json", "explain", "--from", from, "--to", to] + more)
                let report = try #require(try Self.report(outcome.output), "\(outcome.errors)")
                let answers = try #require(report.array("answers")).compactMap(\.object)
                // One answer for each profile of the identity provider, by the same rules.
                #expect(Set(answers.map { $0.string("reason") }).count == 1)
                #expect(report.bool("may_share") == (outcome.status == 0))
                #expect(outcome.status == 0 || outcome.status == 1 && answers.first?.string("cause") != nil)
                return answers.first?.string("reason")
            }
            #expect(try await answer("app1", "app2") == nil)
            #expect(try await answer("app2", "app1") == "direction_forbidden")
            #expect(try await answer("app1", "app3") == "group_mismatch")
            #expect(try await answer("app1", "app4") == "client_not_in_group")
            #expect(try await answer("app4", "app2") == "source_not_in_group")
            #expect(try await answer("app2", "app2") == "self_exchange")
            #expect(try await answer("app1", "app2", "--profile", "device-id") == "profile_not_enabled")
            #expect(try await answer("app1", "app2", "--scope", "openid payments") == "scope_exceeds_client")
            try await installation.succeed(
                "group", "member", "add", "vendor", "app4", "--role", "target", "--scope-ceiling", "openid")
            #expect(try await answer("app1", "app4") == "scope_exceeds_member")
            #expect(try await answer("app1", "app4", "--scope", "openid") == nil)
            try await installation.succeed("scope", "add", "orders", "--requires-consent")
            #expect(try await answer("app1", "app2", "--scope", "openid orders") == "consent_required")
            try await installation.succeed("client", "disable", "app2")
            #expect(try await answer("app1", "app2") == "client_disabled")
            #expect(try await installation.run(["explain", "--from", "app1", "--to", "nobody"]).status == 1)
            let elsewhere = try await installation.run([
                "explain", "--from", "app1", "--to", "app2", "--issuer", "https://other.example.com",
            ])
            #expect(elsewhere.status == 1)
        }
    }

    @Test func `every rule of a decision is shown with what it saw, about two apps and about a login`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            func rules(
                _ arguments: String...
            ) async throws -> (failing: [String], saw: [String: String], text: [String]) {
                let outcome = try await installation.run(["--json", "explain", "--to", "app2"] + arguments)
                let report = try #require(try Self.report(outcome.output), "\(outcome.errors)")
                let answer = try #require(report.array("answers")?.first?.object)
                let rules = try #require(answer.array("rules")).compactMap(\.object)
                #expect(answer.string("reason") == rules.first { $0.bool("passes") == false }?.string("reason"))
                #expect(report.bool("may_share") == (outcome.status == 0))
                let text = try await installation.run(["explain", "--to", "app2"] + arguments).output
                #expect(text.contains(answer.strings("text")?.joined(separator: "\n") ?? "-"), "\(text)")
                return (
                    rules.filter { $0.bool("passes") == false }.compactMap { $0.string("reason") },
                    Dictionary(rules.map { ($0.string("reason") ?? "", $0.string("saw") ?? "") }) { first, _ in first },
                    answer.strings("text") ?? []
                )
            }
            let apps = try await rules("--from", "app1")
            #expect(apps.failing.isEmpty && apps.saw["group_mismatch"] == "vendor and vendor")
            #expect(apps.saw["direction_forbidden"] == "app1 is source, app2 is both")
            #expect(
                apps.text.contains { $0.contains("hand-off  no, because") && $0.contains("(handoff_web_app_unusable)") }
            )
            let live = try await rules("--sid", "sid-1")
            #expect(live.failing.isEmpty && live.saw["session_ended"] == "not ended", "\(live)")
            #expect(live.text.contains { $0.contains("app2 has the grant 10000000-0000-7000-8000-000000000001") })
            #expect(try await rules("--sub", "user").failing.isEmpty)

            // Several rules at once: each is shown, in the order in which the broker asks.
            try await installation.succeed("session", "end", "--sid", "sid-1", "--execute", "--reason", "lost")
            try await installation.succeed(
                "device", "block", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", "--execute",
                "--reason", "stolen")
            try await installation.succeed(
                "client", "update", "app2", "--max-auth-age", "1h", "--execute", "--reason", "policy")
            try await installation.succeed(
                "scope", "add", "openid", "--requires-consent", "--execute", "--reason", "policy")
            try await installation.succeed("client", "disable", "app2", "--execute", "--reason", "policy")
            let dead = try await rules("--sid", "sid-1")
            #expect(
                dead.failing == [
                    "client_disabled", "session_ended", "device_blocked", "consent_required", "assurance_insufficient",
                ], "\(dead)")
            #expect(dead.saw["session_ended"]?.contains("(operator)") == true)
            #expect(try await installation.run(["explain", "--to", "app2", "--sid", "unknown"]).status == 1)
        }
    }

    @Test func `why an app may not hand its logins to a web app`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.succeed(
                "client", "add", "web", "--authentication", "client_secret_basic", "--audience",
                "https://api.example.com", "--allowed-scope", "openid", "--default-scope", "openid")
            func reason() async throws -> String? {
                let outcome = try await installation.run(["--json", "explain", "--from", "app2", "--to", "web"])
                let report = try #require(try Self.report(outcome.output), "\(outcome.errors)")
                let handoff = try #require(report.array("answers")?.first?.object?.object("handoff"))
                #expect(handoff.bool("permitted") == (handoff.string("reason") == nil))
                return handoff.string("reason")
            }
            #expect(try await reason() == "handoff_not_allowed")
            try await installation.succeed(
                "group", "member", "add", "vendor", "app2", "--role", "both", "--handoff", "bearer")
            #expect(try await reason() == "handoff_origin_not_registered")
            try await installation.succeed(
                "group", "member", "add", "vendor", "web", "--role", "target", "--handoff-origin",
                "https://web.example.com")
            #expect(try await reason() == nil)
            let text = try await installation.succeed("explain", "--from", "app2", "--to", "web")
            #expect(text.contains("hand-off  yes: app2 has handoff bearer"), "\(text)")
            let graph = try await installation.succeed("group", "graph")
            #expect(graph.contains("-->|\"hand-off\"|"), "\(graph)")
            try await installation.succeed(
                "idp", "suspend", Installation.identityProvider, "--execute", "--reason", "stolen keys")
            #expect(try await reason() == "idp_suspended")
            let suspended = try await installation.succeed("group", "graph")
            #expect(suspended.contains("-->|\"no hand-off: idp_suspended\"|"), "\(suspended)")
        }
    }

    /// The registry marks such a grant by the end of the grant as its last rotation.
    @Test func `a grant whose last answer could not be made shows no rotation in the future`() async throws {
        try await Installation.withSchema { installation in
            try await SessionCommandTests().put(installation)
            try await installation.cluster.psql(
                "UPDATE native_sso.sso_grant SET rotated_at = expires_at WHERE grant_id::text LIKE '%1'",
                database: installation.database)
            let grants = try await installation.object("session", "show", "--sid", "sid-1").array("grants")
            #expect(grants?.first?.object?["rotated_at"] == .null)
            #expect(grants?.first?.object?.bool("unanswered") == true)
            let other = try await installation.object("session", "show", "--sid", "sid-2").array("grants")
            #expect(other?.first?.object?.string("rotated_at") != nil)
            #expect(other?.first?.object?.bool("unanswered") == false)
        }
    }

    @Test func `audit list, page by page and by what it is asked for`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            func kinds(_ arguments: String...) async throws -> (kinds: [String], next: String?) {
                let outcome = try await installation.run(["--json", "audit", "list"] + arguments)
                #expect(outcome.status == 0, "\(outcome.errors)")
                let page = try #require(
                    try JSONReader.parse(Array(outcome.output.utf8), limits: JSONLimits(members: 10_000)).object)
                return (
                    try #require(page.array("events")).compactMap { $0.object?.string("kind") }, page.string("next")
                )
            }
            let all = try await kinds()
            #expect(all.next == nil)
            #expect(all.kinds.prefix(3) == ["group_member_set", "group_member_set", "group_added"])
            var (seen, next): ([String], String?) = ([], nil)
            repeat {
                let page =
                    next == nil
                    ? try await kinds("--limit", "2") : try await kinds("--limit", "2", "--after", next ?? "")
                seen += page.kinds
                next = page.next
            } while next != nil
            #expect(seen == all.kinds)
            #expect(try await kinds("--kind", "group_added").kinds == ["group_added"])
            #expect(try await kinds("--until", "2020-01-01T00:00:00Z").kinds.isEmpty)
            #expect(try await kinds("--from", "2020-01-01T00:00:00Z", "--until", "2020-01-02T00:00:00Z").kinds.isEmpty)
            #expect(try await kinds("--from", "1h").kinds == all.kinds)
            let text = try await installation.succeed("audit", "list", "--limit", "1")
            #expect(text.contains("group_member_set") && text.contains("--after "))
        }
    }
}
