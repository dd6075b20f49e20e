import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("Commands of an incident", .timeLimit(.minutes(10)))
struct IncidentCommandTests {
    private static let idp = Installation.identityProvider

    /// `count` live sessions of half as many users, which began `age` ago.
    private static func put(
        _ installation: Installation, count: Int, age: String = "1 hour", from first: Int = 0
    ) async throws {
        try await installation.cluster.psql(
            """
            INSERT INTO native_sso.session (session_id, issuer, sid, idp_issuer, subject, created_at, expires_at, last_used_at)
            SELECT (lpad(to_hex((extract(epoch FROM now() - interval '\(age)') * 1000)::bigint + i), 12, '0')
                || '7000800000000000' || lpad(to_hex(i), 4, '0'))::uuid,
                '\(idp)', sha256(('s' || i)::bytea), '\(idp)', 'user-' || i / 2, now() - interval '\(age)',
                now() + interval '1 day', now()
            FROM generate_series(\(first), \(first + count - 1)) i
            """, database: installation.database)
    }

    private static func live(_ installation: Installation) async throws -> String {
        try await installation.cluster.psql(
            "SELECT count(*) FROM native_sso.session WHERE ended_at IS NULL", database: installation.database)
    }

    @Test func `session end says whom it sends to a login page, and an interrupted run goes on`() async throws {
        try await Installation.withSchema { installation in
            try await Self.put(installation, count: 2500)
            let end = ["session", "end", "--idp", Self.idp]
            let plan = try await installation.run(end)
            #expect(
                plan.output.contains("would end 2,500 sessions\n  sends 1,250 users to a login page"), "\(plan.output)")
            let gentle = try await installation.run(end + ["--same-login-may-return"])
            #expect(gentle.output.contains("1,250 users: no login page"), "\(gentle.output)")

            // The last batch waits for rows, and the command is killed there.
            let holder = try installation.session()
            try await holder.rows("BEGIN; SELECT 1 FROM native_sso.session ORDER BY session_id LIMIT 700 FOR UPDATE")
            let log = URL(filePath: installation.file("end.log"))
            let first = try ManagedProcess(
                try BuildProducts.path(of: "native-sso"),
                ["--config", installation.file("\(Installation.administration).yaml")] + end
                    + ["--execute", "--reason", "stolen"], log: log)
            let said = try #require(try await first.errorLine(containing: "type it again with --resume "))
            let id = try #require(said.firstMatch(of: /--resume ([0-9a-f-]{36})/)?.output.1)
            try await installation.cluster.until(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid';", answers: "1")
            first.kill()
            _ = await first.exitStatus
            try await holder.rows("ROLLBACK")
            // The killed command holds nothing.
            try await installation.cluster.until(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE application_name LIKE 'native-sso%' AND datname = '\(installation.database)';
                """, answers: "0")
            let left = try #require(Int(try await Self.live(installation).dropLast()))
            #expect(left > 0 && left <= 700, "\(left)")

            // A user logs in before the operator goes on.
            try await Self.put(installation, count: 1, age: "-2 seconds", from: 9000)
            let second = try await installation.run(end + ["--execute", "--reason", "stolen", "--resume", String(id)])
            #expect(second.status == 0, "\(second.errors)")
            #expect(try await Self.live(installation) == "1\n")
            let acts = try await installation.cluster.psql(
                "SELECT count(*), count(DISTINCT request_id) FROM native_sso.audit_event WHERE kind = 'session_ended'",
                database: installation.database)
            #expect(acts == "2500|1\n")
            let again = try await installation.run(end + ["--execute", "--reason", "stolen", "--resume", String(id)])
            #expect(again.status == 1 && again.errors.contains("nothing is left to end"), "\(again.errors)")
        }
    }

    @Test func `sessions are chosen by provider and time of issue together`() async throws {
        try await Installation.withSchema { installation in
            try await Self.put(installation, count: 4, age: "3 hours")
            try await Self.put(installation, count: 2, age: "1 hour", from: 10)
            func count(_ arguments: String...) async throws -> Int? {
                try await installation.object(["session", "list"] + arguments).array("sessions")?.count
            }
            #expect(try await count("--issued-between", "2h", "30m") == 2)
            #expect(try await count("--issued-between", "4h", "2h", "--idp", Self.idp) == 4)
            #expect(try await count("--issued-between", "4h", "2h", "--idp", "https://other.example.com") == 0)
        }
    }

    @Test func `a suspended provider's logins are refused on every broker until it is resumed`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let brokers = [
                try await installation.startBroker("one").ready(), try await installation.startBroker("two").ready(),
            ]
            let login = try Login(installation, sid: "s-1")
            let granted = try await brokers[0].token(login.exchange(by: "app2"))
            #expect(granted.status == 200, "\(granted.text)")

            let suspend = ["idp", "suspend", Self.idp]
            let plan = try await installation.run(suspend)
            #expect(plan.output.contains("1 live session of 1 user goes on"), "\(plan.output)\(plan.errors)")
            #expect(try await brokers[0].token(login.exchange(by: "app2")).status == 200)
            try await installation.command(suspend + ["--execute", "--reason", "stolen keys"])
            try await installation.expectFailure(suspend, 1, "suspended already")
            for broker in brokers {
                try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 400 }
                let refused = try await broker.token(login.exchange(by: "app2"))
                #expect(refused.json?.string("error") == "invalid_target")
                #expect(refused.json?.string("error_description")?.contains("suspended") == true)
                let metrics = try await broker.get("/metrics").text
                #expect(metrics.contains("native_sso_idp_suspended{issuer=\"\(Self.idp)\"} 1"))
            }
            // What lives goes on.
            let token = try #require(granted.json?.string("refresh_token"))
            #expect(try await brokers[1].token(Login.refresh(token, by: "app2")).status == 200)
            try await installation.command("idp", "resume", Self.idp, "--execute", "--reason", "new keys")
            for broker in brokers {
                try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 200 }
            }
        }
    }

    // MARK: Rows that a broker cannot read

    @Test func `a suspension reaches every broker within 3 s beside a client that none of them can read`()
        async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps("app3")
            let brokers = [
                try await installation.startBroker("one").ready(), try await installation.startBroker("two").ready(),
            ]
            let login = try Login(installation, sid: "s-1")
            for broker in brokers {
                #expect(try await broker.token(login.exchange(by: "app3")).status == 200)
            }
            try await installation.cluster.psql(
                "UPDATE native_sso.client SET access_token_algorithm = 'ML-DSA-65' WHERE client_id = 'app3'",
                database: installation.database)
            for broker in brokers {
                try await broker.wait { try await $0.token(login.exchange(by: "app3")).isOutage }
                #expect(try await broker.token(login.exchange(by: "app2")).status == 200)
                #expect(try await broker.get("/readyz").status == 200)
                #expect(try await broker.get("/metrics").text.contains("native_sso_registry_rows_unreadable 1\n"))
            }

            try await installation.command("idp", "suspend", Self.idp, "--execute", "--reason", "stolen keys")
            for broker in brokers {
                let refused = try await eventually("a refusal", within: .seconds(3)) {
                    let answer = try await broker.token(login.exchange(by: "app2"))
                    return answer.status == 200 ? nil : answer
                }
                #expect(refused.status == 400 && refused.error == "invalid_target", "\(refused.text)")
                #expect(try await broker.token(login.exchange(by: "app3")).isOutage)
                // Once, though the rows were read several times.
                let lines = try broker.logLines(with: "\"rows of the registry cannot be read\"")
                #expect(lines.count == 1, "\(lines)")
                #expect(lines.first?.contains("client app3: column access_token_algorithm") == true)
            }

            try await installation.command("idp", "resume", Self.idp, "--execute", "--reason", "new keys")
            try await installation.cluster.psql(
                "UPDATE native_sso.client SET access_token_algorithm = NULL", database: installation.database)
            for broker in brokers {
                try await broker.wait { try await $0.token(login.exchange(by: "app3")).status == 200 }
                #expect(try await broker.get("/metrics").text.contains("native_sso_registry_rows_unreadable 0\n"))
            }
        }
    }

    @Test func `a suspension of an identity provider that cannot be told is an outage, not a grant`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            let login = try Login(installation, sid: "s-1")
            let granted = try await broker.token(login.exchange(by: "app2"))
            let token = try #require(granted.refreshToken, "\(granted.text)")
            try await installation.cluster.psql(
                "INSERT INTO native_sso.suspended_provider VALUES ('https://' || chr(228), now())",
                database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).isOutage }
            // A refresh takes no login.
            #expect(try await broker.token(Login.refresh(token, by: "app2")).status == 200)
            try await installation.cluster.psql(
                "DELETE FROM native_sso.suspended_provider", database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 200 }
        }
    }

    @Test func `a suspension of a signing key counts, though its time cannot be read`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await installation.startBroker("broker").ready()
            let login = try Login(installation, sid: "s-1")
            #expect(try await broker.token(login.exchange(by: "app2")).status == 200)
            try await installation.cluster.psql(
                "UPDATE native_sso.signing_key SET suspended_at = 'infinity' WHERE use = 'access-token'",
                database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).isOutage }
            try await installation.cluster.psql(
                "UPDATE native_sso.signing_key SET suspended_at = NULL", database: installation.database)
            try await broker.wait { try await $0.token(login.exchange(by: "app2")).status == 200 }
        }
    }
}
