import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding
import Testing

@Suite("Sessions, devices and grants on the command line", .timeLimit(.minutes(10)))
struct SessionCommandTests {
    private static let issuer = Installation.identityProvider

    /// Inserts two logins of one user on two devices, each with a token family, without the broker.
    func put(_ installation: Installation) async throws {
        try await installation.registerApps()
        for index in 1...2 {
            try await installation.cluster.psql(
                """
                INSERT INTO native_sso.device (issuer, device_digest, first_seen_at)
                VALUES ('\(Self.issuer)', sha256('\(index)'), now());
                INSERT INTO native_sso.session (session_id, issuer, sid, idp_issuer, idp_sid, subject, device_digest,
                    source_client_id, created_at, expires_at, last_used_at)
                VALUES ('00000000-0000-7000-8000-00000000000\(index)', '\(Self.issuer)',
                    sha256('sid-\(index)'), '\(Self.issuer)', sha256('idp-\(index)'), 'user',
                    sha256('\(index)'), 'app1', date_trunc('second', now()), now() + interval '1 day', now());
                INSERT INTO native_sso.sso_grant (grant_id, session_id, client_id, source_client_id, device_digest,
                    generation, rotated_at, scope, audiences, amr, created_at, expires_at)
                VALUES ('10000000-0000-7000-8000-00000000000\(index)', '00000000-0000-7000-8000-00000000000\(index)', 'app2',
                    'app1', sha256('\(index)'), 1, now(), '{openid}', '{a}', '{}', now(), now() + interval '1 day')
                """, database: installation.database)
        }
    }

    private func live(_ installation: Installation) async throws -> [String] {
        try await listed("sessions", installation, ["session", "list"])
    }

    /// The name of each row's session.
    private func listed(
        _ name: String, _ installation: Installation, _ arguments: [String]
    ) async throws -> [String] {
        let outcome = try await installation.run(["--json"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let rows = try JSONReader.parse(Array(outcome.output.utf8)).object?.array(name)
        return try #require(rows).compactMap { row in
            row.object?.string("session_id").map { "sid-\($0.suffix(1))" }
        }.sorted()
    }

    private static let firstDevice = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

    @Test(arguments: [
        (["--sid", "sid-1"], ["sid-2"]), (["--sid", "idp-1"], ["sid-2"]),
        (["--sid", "00000000-0000-7000-8000-000000000001"], ["sid-2"]), (["--device", firstDevice], ["sid-2"]),
        (["--client", "app1"], []), (["--idp", issuer], []),
        (["--issued-between", "1h", "2999-01-01T00:00:00Z"], []),
        (["--sub", "user"], []), (["--all"], []),
    ])
    func `session end selects sessions by each option`(which: [String], left: [String]) async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            let plan = try await installation.run(["session", "end"] + which)
            #expect(plan.status == 0 && plan.output.hasPrefix("would end "), "\(plan.errors)")
            #expect(try await live(installation) == ["sid-1", "sid-2"])
            let done = try await installation.run(["session", "end"] + which + ["--execute", "--reason", "lost"])
            #expect(done.status == 0, "\(done.errors)")
            #expect(try await live(installation) == left)
        }
    }

    @Test func `account enable shows its plan first, and the audit has the act`() async throws {
        try await Installation.withSchema { installation in
            try await installation.cluster.psql(
                """
                INSERT INTO native_sso.subject_logout (idp_issuer, subject, issued_at, disabled_at, recorded_at)
                VALUES ('\(Self.issuer)', 'user', now(), now(), now()), ('\(Self.issuer)', 'other', now(), NULL, now())
                """, database: installation.database)
            func disabled() async throws -> [String?] {
                let list = try await installation.object("account", "list").array("accounts")
                return try #require(list).map { $0.object?.string("sub") }
            }
            let command = ["account", "enable", "--sub", "user"]
            #expect(try await disabled() == ["user"])
            let plan = try await installation.succeed("account", "enable", "--sub", "user")
            #expect(plan.hasPrefix("would enable the account user of \(Self.issuer)"), "\(plan)")
            #expect(try await installation.run(command + ["--execute"]).status == 2)
            #expect(try await disabled() == ["user"])
            let done = try await installation.run(["--json"] + command + ["--execute", "--reason", "ticket 1"])
            let act = try #require(try JSONReader.parse(Array(done.output.utf8)).object?.string("request_id"))
            #expect(try await disabled().isEmpty)
            let sentence = try await installation.succeed("explain", act)
            #expect(sentence.contains("enabled an account of \(Self.issuer)") && sentence.contains("ticket 1"))
            // Neither a second time, nor one that was never disabled.
            for sub in ["user", "other", "unknown"] {
                let again = try await installation.run(["account", "enable", "--sub", sub])
                #expect(again.status == 1 && again.errors.contains("the account is not disabled"), "\(again.errors)")
            }
        }
    }

    @Test func `session register is safe to repeat, and a logout that came first wins`() async throws {
        try await Installation.withSchema { installation in
            let command = [
                "session", "register", "--sid", "-new", "--sub", "user", "--auth-time", "1795000000", "--amr", "pwd",
                "otp",
                "--reason", "hook",
            ]
            for outcome in ["registered", "known"] {
                let answer = try await installation.run(["--json"] + command)
                #expect(try JSONReader.parse(Array(answer.output.utf8)).object?.string("outcome") == outcome)
            }
            let session = try await installation.object("session", "show", "--sid", "-new").object("session")
            #expect(session?.string("sub") == "user")
            #expect(try await installation.run(["session", "show", "--sid", "-new"]).errors == "")
            let taken = try await installation.run(["session", "register", "--sid", "-new", "--sub", "another"])
            #expect(taken.status == 1 && taken.errors.contains("another user"))
            try await installation.succeed("session", "end", "--sid", "-new", "--execute", "--reason", "x")
            let ended = try await installation.run(command)
            #expect(ended.status == 1 && ended.errors.contains("stays over"))
            #expect(try await installation.audit().contains { $0.hasPrefix("session_registered|") })
            let tomorrow = String(Int(Date().timeIntervalSince1970) + 86_400)
            try await installation.succeed(
                "session", "register", "--sid", "-new", "--sub", "user", "--auth-time", tomorrow, "--reason", "hook")
            let newest = try await installation.run(["--json", "session", "show", "--sid", "-new"])
            #expect(newest.errors.contains("Several sessions had this sid"))
            let shown = try JSONReader.parse(Array(newest.output.utf8)).object?.object("session")
            #expect(shown?["ended_at"] == .null)
        }
    }

    @Test func `session show takes the live one of several sessions of a name, and warns`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            let command = ["session", "show", "--sid", "sid-1"]
            #expect(try await installation.run(command).errors.isEmpty)
            try await installation.cluster.psql(
                """
                INSERT INTO native_sso.session (session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at,
                    expires_at, last_used_at, ended_at, end_reason)
                SELECT '00000000-0000-7000-8000-000000000009', issuer, sid, issuer, sid, 'user', now(), now(), now(),
                    now(), 'operator'
                FROM native_sso.session WHERE sid = sha256('sid-1')
                """, database: installation.database)
            let shown = try await installation.run(command)
            #expect(shown.errors.contains("Several sessions had this sid."))
            #expect(shown.output.contains("00000000-0000-7000-8000-000000000001"))
        }
    }

    @Test func `device block and unblock`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            #expect(
                try await installation.object("session", "show", "--sid", "sid-1").object("session")?.string("device")
                    == Self.firstDevice)
            let plan = try await installation.run(["device", "block", Self.firstDevice])
            #expect(plan.output.hasPrefix("would block "), "\(plan.errors)")
            #expect(try await installation.object("device", "show", Self.firstDevice)["blocked_at"] == .null)
            try await installation.succeed("device", "block", Self.firstDevice, "--execute", "--reason", "stolen")
            #expect(try await installation.object("device", "show", Self.firstDevice).string("blocked_at") != nil)
            let again = try await installation.run(["device", "block", Self.firstDevice])
            #expect(again.status == 1)
            try await installation.succeed("device", "unblock", Self.firstDevice, "--execute", "--reason", "found")
            #expect(try await installation.object("device", "show", Self.firstDevice)["blocked_at"] == .null)
            #expect(try await installation.run(["device", "unblock", Self.firstDevice]).status == 1)
            #expect(try await installation.run(["device", "show", String(repeating: "0", count: 64)]).status == 1)
            #expect(try await installation.run(["device", "show", "x"]).status == 2)
            let audit = try await installation.audit()
            #expect(audit.contains { $0.hasPrefix("device_blocked|") && $0.contains("stolen") })
            #expect(audit.contains { $0.hasPrefix("device_unblocked|") && $0.contains("found") })
        }
    }

    @Test func `device unpin`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            let (first, second) = (String(repeating: "a", count: 43), String(repeating: "b", count: 43))
            let device = ["device", "unpin", Self.firstDevice]
            #expect(try await installation.run(device).status == 1)
            try await installation.cluster.psql(
                """
                UPDATE native_sso.device SET pinned_keys = '{"app1": "\(first)", "app2": "\(second)"}'
                WHERE device_digest = '\\x\(Self.firstDevice)'
                """, database: installation.database)
            func pinned() async throws -> [String]? {
                try await installation.object("device", "show", Self.firstDevice).strings("pinned_clients")
            }
            let plan = try await installation.run(device + ["--client", "app2"])
            #expect(plan.output.hasPrefix("would unpin "), "\(plan.errors)")
            #expect(plan.output.contains(second) && !plan.output.contains(first))
            #expect(try await pinned() == ["app1", "app2"])
            #expect(try await installation.run(device + ["--execute"]).status == 2)
            #expect(try await installation.run(device + ["--client", "app3"]).status == 1)
            let unpinned = try await installation.run(
                device + ["--client", "app2", "--execute", "--reason", "lost its key"])
            #expect(unpinned.output.hasPrefix("done: unpin "), "\(unpinned.errors)")
            #expect(try await pinned() == ["app1"])
            try await installation.succeed(
                "device", "unpin", Self.firstDevice, "--execute", "--reason", "new owner")
            #expect(try await pinned() == [])
            #expect(try await installation.run(device).status == 1)
            let audit = try await installation.audit()
            let unpinnings = audit.filter { $0.hasPrefix("device_unpinned|") }
            #expect(unpinnings.count == 2)
            #expect(unpinnings.contains { $0.contains("lost its key") && $0.contains("app2") })
            #expect(unpinnings.contains { $0.contains("new owner") })
        }
    }

    @Test func `grant list and revoke`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            func live(_ which: String...) async throws -> [String] {
                try await listed("grants", installation, ["grant", "list"] + which)
            }
            #expect(try await live("--client", "app2") == ["sid-1", "sid-2"])
            #expect(try await live("--sub", "user") == ["sid-1", "sid-2"])
            for name in ["sid-1", "idp-1", "00000000-0000-7000-8000-000000000001"] {
                #expect(try await live("--sid", name) == ["sid-1"])
            }
            let grant = "10000000-0000-7000-8000-000000000001"
            #expect(try await installation.run(["grant", "revoke", grant]).output.hasPrefix("would revoke 1 grant\n"))
            #expect(try await live("--client", "app2").count == 2)
            try await installation.succeed("grant", "revoke", grant, "--execute", "--reason", "odd")
            #expect(try await live("--client", "app2") == ["sid-2"])
            #expect(try await installation.run(["grant", "revoke", grant]).status == 1)
            try await installation.succeed("grant", "revoke", "--client", "app2", "--execute", "--reason", "odd")
            #expect(try await live("--client", "app2").isEmpty)
            #expect(try await live("--client", "app2", "--ended").count == 2)
            #expect(try await self.live(installation) == ["sid-1", "sid-2"])
            for wrong in [["grant", "revoke"], ["grant", "revoke", "x"], ["grant", "list"]] {
                #expect(try await installation.run(wrong).status == 2)
            }
        }
    }
}
