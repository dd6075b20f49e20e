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
        let rows = try await installation.object(arguments).array(name)
        return try #require(rows).compactMap { row in
            row.object?.string("session_id").map { "sid-\($0.suffix(1))" }
        }.sorted()
    }

    static let firstDevice = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

    @Test func `session end selects sessions by each option`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            let (one, both) = (["sid-1"], ["sid-1", "sid-2"])
            for (which, selected) in [
                (["--sid", "sid-1"], one), (["--sid", "idp-1"], one),
                (["--sid", "00000000-0000-7000-8000-000000000001"], one), (["--device", Self.firstDevice], one),
                (["--client", "app1"], both), (["--idp", Self.issuer], both),
                (["--issued-between", "1h", "2999-01-01T00:00:00Z"], both), (["--sub", "user"], both),
                (["--all"], both),
            ] {
                let plan = try await installation.command(["session", "end"] + which)
                #expect(plan.hasPrefix("would end \(selected.count) session"), "\(which): \(plan)")
                let named = both.filter { plan.contains("-00000000000\($0.suffix(1)) at ") }
                #expect(named == selected, "\(which): \(plan)")
            }
            #expect(try await live(installation) == both)
            try await installation.command("session", "end", "--sid", "idp-1", "--execute", "--reason", "lost")
            #expect(try await live(installation) == ["sid-2"])
        }
    }

    @Test func `session register is safe to repeat, and a logout that came first wins`() async throws {
        try await Installation.withSchema { installation in
            let command = ["session", "register", "--sid", "-new", "--sub", "user", "--reason", "hook", "--auth-time"]
            let (earlier, show) = (command + ["1795000000"], ["session", "show", "--sid", "-new"])
            for outcome in ["registered", "known"] {
                #expect(try await installation.object(earlier + ["--amr", "pwd", "otp"]).string("outcome") == outcome)
            }
            #expect(try await installation.run(show).errors == "")
            try await installation.command("session", "end", "--sid", "-new", "--execute", "--reason", "x")
            try await installation.expectFailure(earlier, 1, "stays over")
            let tomorrow = String(Int(Date().timeIntervalSince1970) + 86_400)
            try await installation.command(command + [tomorrow])
            // It shows the live one of several sessions of a name, and warns.
            let newest = try await installation.run(["--json"] + show)
            #expect(newest.errors.contains("Several sessions had this sid"))
            let shown = try JSONReader.parse(Array(newest.output.utf8)).object?.object("session")
            #expect(shown?.string("sub") == "user" && shown?["ended_at"] == .null)
        }
    }

    @Test func `device unpin`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            let (first, second) = (String(repeating: "a", count: 43), String(repeating: "b", count: 43))
            let unpin = ["device", "unpin", Self.firstDevice]
            try await installation.cluster.psql(
                """
                UPDATE native_sso.device SET pinned_keys = '{"app1": "\(first)", "app2": "\(second)"}'
                WHERE device_digest = '\\x\(Self.firstDevice)'
                """, database: installation.database)
            func pinned() async throws -> [String]? {
                try await installation.object("device", "show", Self.firstDevice).strings("pinned_clients")
            }
            let plan = try await installation.command(unpin + ["--client", "app2"])
            #expect(plan.hasPrefix("would unpin ") && plan.contains(second) && !plan.contains(first), "\(plan)")
            #expect(try await pinned() == ["app1", "app2"])
            try await installation.expectFailure(unpin + ["--client", "app3"], 1, "native-sso: ")
            try await installation.command(unpin + ["--client", "app2", "--execute", "--reason", "lost its key"])
            #expect(try await pinned() == ["app1"])
            try await installation.command(unpin + ["--execute", "--reason", "new owner"])
            #expect(try await pinned() == [])
            let audit = try await installation.audit().filter { $0.hasPrefix("device_unpinned|") }
            #expect(audit.count == 2)
            #expect(audit.contains { $0.contains("lost its key") && $0.contains("app2") })
            #expect(audit.contains { $0.contains("new owner") })

            let block = ["device", "block", Self.firstDevice]
            try await installation.command(block + ["--execute", "--reason", "stolen"])
            try await installation.expectFailure(block, 1, "native-sso: ")
        }
    }

    @Test func `grant list and revoke`() async throws {
        try await Installation.withSchema { installation in
            try await put(installation)
            func live(_ which: String...) async throws -> [String] {
                try await listed("grants", installation, ["grant", "list"] + which)
            }
            for (which, found) in [
                (["--client", "app2"], ["sid-1", "sid-2"]), (["--sub", "user"], ["sid-1", "sid-2"]),
                (["--sid", "sid-1"], ["sid-1"]), (["--sid", "idp-1"], ["sid-1"]),
                (["--sid", "00000000-0000-7000-8000-000000000001"], ["sid-1"]),
            ] {
                #expect(try await live(which[0], which[1]) == found, "\(which)")
            }
            // The registry marks a grant whose last answer could not be made by its end as its last rotation.
            try await installation.cluster.psql(
                "UPDATE native_sso.sso_grant SET rotated_at = expires_at WHERE grant_id::text LIKE '%1'",
                database: installation.database)
            for (sid, isUnanswered) in [("sid-1", true), ("sid-2", false)] {
                let grants = try await installation.object("session", "show", "--sid", sid).array("grants")
                let grant = try #require(grants?.first?.object)
                #expect((grant["rotated_at"] == .null) == isUnanswered && grant.bool("unanswered") == isUnanswered)
            }

            try await installation.command("grant", "revoke", "--client", "app2", "--execute", "--reason", "odd")
            #expect(try await live("--client", "app2").isEmpty)
            #expect(try await live("--client", "app2", "--ended").count == 2)
            #expect(try await self.live(installation) == ["sid-1", "sid-2"])
        }
    }
}
