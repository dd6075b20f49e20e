import BrokerHarness
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import Testing

extension Installation {
    fileprivate func registerThreeApps() async throws {
        try await registerApps()
        try await succeed(
            "client", "add", "app3", "--audience", "https://api.example.com", "--allowed-scope", "openid",
            "--default-scope", "openid")
        try await succeed("group", "member", "add", "vendor", "app3", "--role", "both")
    }
}

@Suite("native-sso key doctor, and compromised keys", .timeLimit(.minutes(10)))
struct KeyDoctorTests {
    /// A login with a token family of each app.
    private func login(_ installation: Installation, _ broker: Broker, sid: String) async throws -> [String] {
        let login = try Login(installation, sid: sid)
        var tokens: [String] = []
        for app in ["app3", "app2"] {
            let answer = try await broker.post(login.exchange(by: app))
            tokens.append(try #require(answer.json?.string("refresh_token"), "\(answer.text)"))
        }
        return tokens
    }

    private func order(_ key: JSONObject) -> Int {
        ["access-token", "refresh-token", "device"].firstIndex(of: key.string("use")) ?? 3
    }

    private func doctor(_ installation: Installation) async throws -> (status: Int32, errors: String, [JSONObject]) {
        let outcome = try await installation.run(["--json", "key", "doctor"])
        let json = try #require(try JSONReader.parse(Array(outcome.output.utf8)).object, "\(outcome.errors)")
        #expect(json.bool("memory_locked") != nil && json.bool("fips") == false)
        return (
            outcome.status, outcome.errors,
            try #require(json.array("keys")).compactMap(\.object).sorted { order($0) < order($1) }
        )
    }

    @Test func `says what protects each key and what depends on it, and its status tells monitoring`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerThreeApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            _ = try await login(installation, broker, sid: "one")
            let (status, errors, keys) = try await doctor(installation)
            #expect(status == 0 && errors.isEmpty, "\(errors)")
            #expect(keys.compactMap { $0.string("use") } == ["access-token", "refresh-token", "device"])
            #expect(keys.allSatisfy { $0.bool("usable_here") == true && $0["may_go_at"] == .null })
            #expect(keys[0].string("protection") == "file, mode 0600, not encrypted")
            #expect(keys.map { $0.number("families")?.int64 } == [0, 2, 0])
            #expect(keys.map { $0.number("access_tokens")?.int64 } == [2, 0, 0])
            #expect(keys.map { $0.number("id_tokens")?.int64 } == [0, 0, 0])
            #expect(keys.map { $0.number("devices")?.int64 } == [0, 0, 1])

            // A key that made nothing has no dependents. A retired one may go when its last token has expired.
            try await installation.succeed("key", "generate", "--use", "refresh-token")
            let old = try #require(keys[1].string("kid"))
            let new = try #require(
                try await installation.keys(use: "refresh-token").compactMap { $0.string("kid") }.first { $0 != old })
            #expect(try await doctor(installation).2.first { $0.string("kid") == new }?.number("families")?.int64 == 0)
            try await installation.step("activate", new, "--force")
            let retired = try #require(try await doctor(installation).2.first { $0.string("kid") == old })
            #expect(retired.string("may_go_at") != nil && retired.number("families")?.int64 == 2)

            let file = try #require(keys[0].string("kid")) + ".pem"
            try FileManager.default.removeItem(atPath: installation.file("keys/\(file)"))
            let lacking = try await doctor(installation)
            #expect(lacking.status == 3)
            #expect(lacking.errors.contains("does not exist") && lacking.errors.contains("access-token"))
            #expect(lacking.2[0].bool("usable_here") == false && lacking.2[0]["protection"] == .null)
        }
    }

    @Test func `a compromised key says what it ends, changes nothing, and then ends it`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerThreeApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            let tokens = try await login(installation, broker, sid: "one")
            let old = try #require(try await installation.keys(use: "refresh-token").first?.string("kid"))
            try await installation.succeed("key", "generate", "--use", "refresh-token")
            let new = try #require(
                try await installation.keys(use: "refresh-token").compactMap { $0.string("kid") }.first { $0 != old })
            // It is told apart by time: this family lies outside of the allowance around the change of keys.
            try await installation.step("activate", new, "--force")
            try await installation.cluster.psql(
                """
                UPDATE native_sso.signing_key SET activated_at = activated_at - interval '2 hours',
                    retired_at = retired_at - interval '1 hour' WHERE kid = '\(old)';
                UPDATE native_sso.sso_grant SET rotated_at = rotated_at - interval '90 minutes' WHERE client_id = 'app3'
                """, database: installation.database)

            let plan = try await installation.run(["key", "remove", "--compromised", "--", old])
            #expect(plan.status == 0, "\(plan.errors)")
            #expect(
                plan.output.contains("would remove") && plan.output.contains("1 live token family"), "\(plan.output)")
            #expect(try await installation.state(of: old) == "retired")
            #expect(try await broker.post(Login.refresh(tokens[1], by: "app2")).status == 200)

            try await installation.step("remove", old, "--compromised")
            #expect(try await installation.state(of: old) == nil)
            let revoked = try await installation.cluster.psql(
                "SELECT client_id, revoke_reason FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL",
                database: installation.database)
            #expect(revoked == "app3|operator\n")
            let acts = try await installation.audit().filter {
                $0.hasPrefix("grant_revoked") || $0.contains("key_removed")
            }
            #expect(acts.count == 2, "\(acts)")
            #expect(!FileManager.default.fileExists(atPath: installation.file("keys/refresh-token-1.key")))
        }
    }

    @Test func `sync copies what is missing, and overwrites nothing`() async throws {
        try await Installation.withSchema { installation in
            let (own, other) = (installation.file("keys"), installation.file("replica"))
            func names(_ path: String) throws -> Set<String> {
                Set(try FileManager.default.contentsOfDirectory(atPath: path))
            }
            let missing = try await installation.run(["key", "sync", "--to", other])
            #expect(missing.status == 3 && missing.errors.contains("install -d -m 0700"), "\(missing.errors)")
            try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
            #expect(chmod(other, 0o755) == 0)
            let open = try await installation.run(["key", "sync", "--to", other])
            #expect(open.status == 3 && open.errors.contains("has mode 0755"), "\(open.errors)")
            #expect(chmod(other, 0o700) == 0)
            let copied = try await installation.object("key", "sync", "--to", other).array("keys")
            #expect(copied?.compactMap { $0.object?.bool("copied") } == [true, true, true])
            #expect(try names(own) == names(other))
            let again = try await installation.object("key", "sync", "--to", other).array("keys")
            #expect(again?.compactMap { $0.object?.bool("copied") } == [false, false, false])

            // Back again, where one file is lost and one is another key.
            try FileManager.default.removeItem(atPath: own + "/device.key")
            let strange = Data(repeating: 7, count: 32)
            try strange.write(to: URL(fileURLWithPath: other + "/refresh-token-1.key"))
            let from = try await installation.run(["key", "sync", "--from", other])
            #expect(from.status == 0, "\(from.errors)")
            #expect(try names(own) == names(other))
            let to = try await installation.run(["key", "sync", "--to", other])
            #expect(to.status == 3 && to.errors.contains("refresh-token-1.key holds the key"), "\(to.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: other + "/refresh-token-1.key")) == strange)
            let both = try await installation.run(["key", "sync", "--from", other, "--to", other])
            #expect(both.status == 2 && both.errors.contains("--to or --from"), "\(both.errors)")
        }
    }

    @Test func `the unit of the timer takes a step that is due, and says what it waits for`() async throws {
        let unit = try String(
            contentsOf: Checkout.root.appending(path: "deploy/packaging/native-sso-rotate.service"), encoding: .utf8)
        let start = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=/usr/sbin/native-sso-admin ") })
        let arguments = start.split(separator: " ").dropFirst().map(String.init)
        try await Installation.withSchema { installation in
            let early = try await installation.run(arguments)
            #expect(early.status == 0 && early.output.contains("is not due"), "\(early.errors)")
            try await installation.cluster.psql(
                "UPDATE native_sso.signing_key SET activated_at = now() - interval '90 days' WHERE use = 'access-token'",
                database: installation.database)
            async let first = installation.run(arguments)
            async let second = installation.run(arguments)
            let outcomes = [try await first, try await second]
            #expect(outcomes.contains { $0.status == 0 && $0.output.contains("done: make and publish") })
            let states = try await installation.keys(use: "access-token").compactMap { $0.string("state") }
            #expect(states.sorted() == ["active", "published"])
        }
    }

    @Test func `FIPS that is not there, and a wrong passphrase, are errors by name`() async throws {
        try await Installation.withSchema { installation in
            let fips = try await installation.run(["key", "doctor"], environment: ["NATIVE_SSO_KEYS_FIPS": "true"])
            #expect(fips.status == 3 && fips.errors.contains("FIPS provider cannot be used"), "\(fips.errors)")

            let file = installation.file("passphrase")
            func environment(_ text: String) throws -> [String: String] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
                return ["NATIVE_SSO_KEYS_PASSPHRASE_FILE": file]
            }
            let right = try environment("a\n")
            let made = try await installation.run(
                ["key", "generate", "--use", "access-token"], environment: right)
            #expect(made.status == 0, "\(made.errors)")
            let seen = try await installation.run(["key", "doctor"], environment: right)
            #expect(seen.status == 0 && seen.output.contains("mode 0600, encrypted"), "\(seen.errors)")
            let wrong = try await installation.run(["key", "doctor"], environment: try environment("b\n"))
            #expect(wrong.status == 3 && wrong.errors.contains("does not open it"), "\(wrong.errors)")
            let none = try await installation.run(["key", "doctor"])
            #expect(none.status == 3 && none.errors.contains("has no passphrase"), "\(none.errors)")
        }
    }
}
