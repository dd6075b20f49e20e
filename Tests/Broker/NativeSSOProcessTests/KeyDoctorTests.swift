import BrokerHarness
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

extension Installation {
    fileprivate func keyDoctor(_ environment: [String: String], _ status: Int32, _ words: String) async throws {
        let outcome = try await run(["key", "doctor"], environment: environment)
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect((outcome.output + outcome.errors).contains(words), "\(outcome.output)\(outcome.errors)")
    }

    fileprivate func successor(of kid: String, use: String) async throws -> String {
        try await command("key", "generate", "--use", use)
        return try #require(try await keys(use: use).compactMap { $0.string("kid") }.first { $0 != kid })
    }
}

@Suite("native-sso key doctor, and compromised keys", .timeLimit(.minutes(10)))
struct KeyDoctorTests {
    /// A login with a token family of each app.
    private func login(_ installation: Installation, _ broker: Broker, sid: String) async throws -> [String] {
        let login = try Login(installation, sid: sid)
        var tokens: [String] = []
        for app in ["app3", "app2"] {
            let answer = try await broker.token(login.exchange(by: app))
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

    @Test func `says what depends on each key; a compromised one says what it ends, and then ends it`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps("app3")
            let broker = try await installation.startBroker("broker").ready()
            let tokens = try await login(installation, broker, sid: "one")
            let (status, errors, keys) = try await doctor(installation)
            #expect(status == 0 && errors.isEmpty, "\(errors)")
            #expect(keys.compactMap { $0.string("use") } == ["access-token", "refresh-token", "device"])
            #expect(keys.allSatisfy { $0.bool("usable_here") == true && $0["may_go_at"] == .null })
            for (counted, numbers) in [
                ("families", [0, 2, 0]), ("access_tokens", [2, 0, 0]), ("id_tokens", [0, 0, 0]),
                ("devices", [0, 0, 1]),
            ] as [(String, [Int64])] {
                #expect(keys.compactMap { $0.number(counted)?.int64 } == numbers, "\(counted)")
            }

            // A key that made nothing has no dependents. A retired one may go when its last token has expired.
            let old = try #require(keys[1].string("kid"))
            let new = try await installation.successor(of: old, use: "refresh-token")
            #expect(try await doctor(installation).2.first { $0.string("kid") == new }?.number("families")?.int64 == 0)
            try await installation.step("activate", new, "--force")
            let retired = try #require(try await doctor(installation).2.first { $0.string("kid") == old })
            #expect(retired.string("may_go_at") != nil && retired.number("families")?.int64 == 2)

            // It is told apart by time: this family lies outside of the allowance around the change of keys.
            try await installation.cluster.psql(
                """
                UPDATE native_sso.signing_key SET activated_at = activated_at - interval '2 hours',
                    retired_at = retired_at - interval '1 hour' WHERE kid = '\(old)';
                UPDATE native_sso.sso_grant SET rotated_at = rotated_at - interval '90 minutes' WHERE client_id = 'app3'
                """, database: installation.database)
            let plan = try await installation.command("key", "remove", "--compromised", "--", old)
            #expect(plan.contains("would remove") && plan.contains("1 live token family"), "\(plan)")
            #expect(try await installation.state(of: old) == "retired")
            #expect(try await broker.token(Login.refresh(tokens[1], by: "app2")).status == 200)
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

            let file = try #require(keys[0].string("kid")) + ".pem"
            try FileManager.default.removeItem(atPath: installation.file("keys/\(file)"))
            let lacking = try await doctor(installation)
            #expect(lacking.status == 3)
            #expect(lacking.errors.contains("does not exist") && lacking.errors.contains("access-token"))
            #expect(lacking.2[0].bool("usable_here") == false && lacking.2[0]["protection"] == .null)
            // Nor is an incomplete key set exported.
            try await installation.expectFailure(["jwks", "export"], 3, "does not exist")
        }
    }

    @Test func `sync copies what is missing, and overwrites nothing`() async throws {
        try await Installation.withSchema { installation in
            let (own, other) = (installation.file("keys"), installation.file("replica"))
            func names(_ path: String) throws -> Set<String> {
                Set(try FileManager.default.contentsOfDirectory(atPath: path))
            }
            let to = ["key", "sync", "--to", other]
            try await installation.expectFailure(to, 3, "install -d -m 0700")
            try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
            #expect(chmod(other, 0o755) == 0)
            try await installation.expectFailure(to, 3, "has mode 0755")
            #expect(chmod(other, 0o700) == 0)
            for isCopied in [true, false] {
                let copied = try await installation.object(to).array("keys")
                #expect(copied?.compactMap { $0.object?.bool("copied") } == [isCopied, isCopied, isCopied])
            }
            #expect(try names(own) == names(other))

            // Back again, where one file is lost and one is another key.
            try FileManager.default.removeItem(atPath: own + "/device.key")
            let strange = Data(repeating: 7, count: 32)
            try strange.write(to: URL(fileURLWithPath: other + "/refresh-token-1.key"))
            try await installation.command("key", "sync", "--from", other)
            #expect(try names(own) == names(other))
            try await installation.expectFailure(to, 3, "refresh-token-1.key holds the key")
            #expect(try Data(contentsOf: URL(fileURLWithPath: other + "/refresh-token-1.key")) == strange)
        }
    }

    @Test func `FIPS that is not there, and a wrong passphrase, are errors by name`() async throws {
        try await Installation.withSchema { installation in
            try await installation.keyDoctor(["NATIVE_SSO_KEYS_FIPS": "true"], 3, "FIPS provider cannot be used")
            func passphrase(_ text: String) throws -> [String: String] {
                try installation.write(text, to: "passphrase")
                return ["NATIVE_SSO_KEYS_PASSPHRASE_FILE": installation.file("passphrase")]
            }
            let right = try passphrase("a\n")
            let made = try await installation.run(["key", "generate", "--use", "access-token"], environment: right)
            #expect(made.status == 0, "\(made.errors)")
            try await installation.keyDoctor(right, 0, "mode 0600, encrypted")
            try await installation.keyDoctor(try passphrase("b\n"), 3, "does not open it")
            try await installation.keyDoctor([:], 3, "has no passphrase")
        }
    }
}
