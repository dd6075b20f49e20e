import BrokerHarness
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso key and jwks", .timeLimit(.minutes(10)))
struct KeyCommandTests {
    @Test func `the first run makes an active key for each use, the next says that there are`() async throws {
        try await Installation.withFiles { installation in
            try await installation.succeed("migrate", "up")
            let made = try await installation.object("key", "generate")
            let keys = try #require(made.array("keys")).compactMap(\.object)
            #expect(keys.compactMap { $0.string("use") } == ["access-token", "refresh-token", "device"])
            #expect(keys.allSatisfy { $0.string("state") == "active" })
            let files = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            #expect(Set(files) == Set(keys.compactMap { $0.string("file") }))

            let again = try await installation.run(["key", "generate"])
            #expect(again.status == 1)
            #expect(again.errors.contains("--use"))
            let listed = try await installation.object("key", "list")
            #expect(listed.array("keys")?.compactMap { $0.object?.bool("usable_here") } == [true, true, true])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `keys of another user are not judged, which is said once, and root is not advised to take them`() async throws
    {
        try await Installation.withSchema { installation in
            let keys = installation.file("keys")
            #expect(chown(keys, 65534, 65534) == 0)
            let listed = try await installation.run(["--json", "key", "list"])
            #expect(listed.status == 0)
            #expect(
                listed.errors
                    == "\(keys) belongs to user 65534: whether the keys are usable cannot be judged from this "
                    + "account\n")
            #expect(listed.output.components(separatedBy: #""usable_here":null"#).count == 4)
            let made = try await installation.run(["key", "generate", "--use", "refresh-token"])
            #expect(made.status == 3)
            #expect(made.errors.contains("run as that user") && !made.errors.contains("chown"), "\(made.errors)")
        }
    }

    @Test func `a second device key is refused`() async throws {
        try await Installation.withSchema { installation in
            let outcome = try await installation.run(["key", "generate", "--use", "device"])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("every session lost"))
        }
    }

    @Test func `RSA keys for clients that know nothing else`() async throws {
        try await Installation.withFiles { installation in
            try await installation.succeed("migrate", "up")
            try await installation.succeed("key", "generate", "--algorithm", "RS256", "--bits", "3072")
            let document = Array(try await installation.succeed("jwks", "export").utf8)
            let key = try #require(try JSONWebKeySet(document: document).keys.first)
            #expect(key.algorithm == .rs256)
            guard case .rsa(let modulus, _) = key.parameters else {
                Issue.record("not RSA")
                return
            }
            #expect(modulus.count == 384)
        }
    }

    @Test func `a key that the registry did not take leaves no file`() async throws {
        try await Installation.withFiles { installation in
            try await installation.succeed("migrate", "up")
            try await installation.cluster.psql(
                "ALTER TABLE native_sso.signing_key ADD CHECK (use <> 'refresh-token')",
                database: installation.database)
            let outcome = try await installation.run(["key", "generate", "--use", "refresh-token"])
            #expect(outcome.status == 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: installation.file("keys")).isEmpty)
        }
    }

    @Test func `no private number reaches the database, standard output or the audit`() async throws {
        try await Installation.withSchema { installation in
            let dump = try await installation.cluster.psql(
                "SELECT to_jsonb(k) FROM native_sso.signing_key k; SELECT to_jsonb(a) FROM native_sso.audit_event a",
                database: installation.database)
            let device = try Data(contentsOf: URL(fileURLWithPath: installation.file("keys/device.key")))
            for text in [
                Base64URL.encode(Array(device)), device.base64EncodedString(), Hexadecimal.encode(Array(device)),
            ] {
                #expect(!dump.contains(text))
            }
            #expect(!dump.contains(#""d":"#) && !dump.contains("PRIVATE"))
        }
    }

    @Test func `an incomplete key set is not exported`() async throws {
        try await Installation.withSchema { installation in
            for name in try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            where name.hasSuffix(".pem") {
                try FileManager.default.removeItem(atPath: installation.file("keys/\(name)"))
            }
            let outcome = try await installation.run(["jwks", "export"])
            #expect(outcome.status == 3)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.contains("does not exist"))
        }
    }

    @Test func `the exported documents are those of a broker`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let broker = try await Broker.start(installation)
            try await broker.waitUntilReady()
            for (command, path) in [("jwks", "jwks.json"), ("metadata", "openid-configuration")] {
                let exported = try await installation.succeed(command, "export")
                let served = try await broker.get("/.well-known/\(path)")
                #expect(exported == served.text + "\n", "\(command)")
                #expect(!served.text.isEmpty)
            }
        }
    }

    @Test func `rotate makes one successor, also if two run at once, and takes each step in its time`() async throws {
        try await Installation.withSchema { installation in
            let rotate = ["key", "rotate", "--execute", "--reason", "timer"]
            let early = try await installation.run(["key", "rotate"])
            #expect(early.status == 0 && early.output.contains("not due"), "\(early.output)")
            async let first = installation.run(rotate + ["--now"])
            async let second = installation.run(rotate + ["--now"])
            for outcome in [try await first, try await second] {
                #expect(
                    outcome.status == 0 || outcome.errors.contains("a successor is published already"),
                    "\(outcome.errors)")
            }
            let sql =
                "UPDATE native_sso.signing_key SET published_at = now() - interval '25 hours' WHERE state = 'published'"
            func states() async throws -> [String] {
                try await installation.keys(use: "access-token").compactMap { $0.string("state") }.sorted()
            }
            #expect(try await states() == ["active", "published"])
            let waiting = try await installation.run(rotate)
            #expect(waiting.status == 0 && waiting.output.contains("do nothing before"), "\(waiting.output)")
            try await installation.cluster.psql(sql, database: installation.database)
            #expect(try await installation.run(rotate).status == 0)
            #expect(try await states() == ["active", "retired"])
            try await installation.cluster.psql(
                "UPDATE native_sso.signing_key SET retired_at = now() - interval '25 hours' WHERE state = 'retired'",
                database: installation.database)
            #expect(try await installation.run(rotate).status == 0)
            #expect(try await states() == ["active"])
            let files = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            #expect(files.filter { $0.hasSuffix(".pem") }.count == 1, "\(files)")
        }
    }

    /// A vendor whose apps know RS256 only has no ES256 key, and must not get one at night.
    @Test func `rotate takes the step of each algorithm that signs, and keeps the size of an RSA key`() async throws {
        try await Installation.withFiles { installation in
            try await installation.command("migrate", "up")
            try await installation.command("key", "generate", "--use", "refresh-token")
            try await installation.command("key", "generate", "--use", "device")
            func generate(_ more: String...) async throws {
                try await installation.command(["key", "generate", "--use", "access-token"] + more)
            }
            func rotate() async throws -> [String] {
                let run = try await installation.run(["key", "rotate", "--now", "--execute", "--reason", "timer"])
                #expect(run.status == 0, "\(run.errors)")
                return try await installation.keys(use: "access-token").map {
                    "\($0.string("algorithm") ?? "") \($0.string("state") ?? "")"
                }.sorted()
            }
            try await generate("--algorithm", "RS256", "--bits", "3072")
            #expect(try await rotate() == ["RS256 active", "RS256 published"])
            let set = try #require(
                try JSONReader.parse(Array(try await installation.succeed("jwks", "export").utf8)).object)
            let moduli = (set.array("keys") ?? []).compactMap {
                $0.object?.string("n").flatMap { Base64URL.decode($0) }?.count
            }
            #expect(moduli == [384, 384])
            #expect(try await rotate() == ["RS256 active", "RS256 published"])
            // An operator's key of another algorithm takes its place as the timer's own would.
            try await generate("--algorithm", "ES256")
            let both = ["ES256 published", "RS256 active", "RS256 published"]
            #expect(try await rotate() == both)
            let new = try #require(
                try await installation.keys(use: "access-token").first { $0.string("algorithm") == "ES256" }?.string(
                    "kid"))
            try await installation.step("activate", new, "--force")
            #expect(try await rotate() == ["ES256 active"] + both)
        }
    }

    @Test func `suspend and resume show what they would do, name what they refuse, and are audited`() async throws {
        try await Installation.withSchema { installation in
            let active = try #require(try await installation.keys(use: "access-token").first?.string("kid"))
            let device = try #require(try await installation.keys(use: "device").first?.string("kid"))
            try await installation.succeed("key", "generate", "--use", "access-token")
            func suspended() async throws -> [String] {
                try await installation.keys(use: "access-token").filter { $0.string("suspended_at") != nil }
                    .compactMap { $0.string("state") }.sorted()
            }
            let shown = try await installation.run(["key", "suspend", "--use", "access-token"])
            #expect(shown.status == 0 && shown.output.contains("brokers answer 503"), "\(shown.errors)")
            #expect(try await suspended() == [])
            let execute = ["--execute", "--reason", "alarm"]
            // The successor too: a rotation must not let it sign.
            #expect(try await installation.run(["key", "suspend", "--use", "access-token"] + execute).status == 0)
            #expect(try await suspended() == ["active", "published"])
            for (arguments, words) in [
                (["key", "suspend", "--use", "access-token"], "suspended already"),
                (["key", "suspend", "--", device], "signs nothing"), (["key", "suspend", "--", "x"], "does not exist"),
                (["key", "rotate", "--now"], "is suspended: resume it"),
            ] {
                let outcome = try await installation.run(arguments)
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome.errors)")
            }
            #expect(try await installation.run(["key", "suspend"]).status == 2)
            let doctor = try await installation.run(["key", "doctor"])
            #expect(doctor.status == 3)
            let hint = try #require(doctor.errors.split(separator: "\n").first { $0.hasSuffix(" -- \(active)") })
                .components(separatedBy: "native-sso ").last?.split(separator: " ")
            let resume = try #require(hint).map { $0 == "REASON" ? "alarm" : String($0) }
            #expect(try await installation.run(resume).status == 0, "\(resume)")
            #expect(try await suspended() == ["published"])
            #expect(try await installation.run(["key", "resume", "--use", "access-token"] + execute).status == 0)
            #expect(
                try await installation.run(["key", "resume", "--use", "access-token"]).errors.contains("not suspended"))
            let acts = try await installation.audit().filter { $0.contains("|alarm|") }
            #expect(
                acts.map { $0.prefix { $0 != "|" } }.sorted() == Array(repeating: "key_resumed", count: 2)
                    + Array(repeating: "key_suspended", count: 2))
        }
    }

    /// One old SDK that knows only RS256 does not decide for all clients.
    @Test func `keys of two algorithms are active, and a client chooses one that is`() async throws {
        try await Installation.withSchema { installation in
            let client = ["client", "add", "old-sdk", "--audience", "https://api.example.com"]
            try await installation.succeed("key", "generate", "--use", "access-token", "--algorithm", "RS256")
            let keys = try await installation.keys(use: "access-token")
            func kid(_ state: String) throws -> String {
                try #require(keys.first { $0.string("state") == state }?.string("kid"))
            }
            let (last, kid) = (try kid("active"), try kid("published"))
            let early = try await installation.run(client + ["--signing-algorithm", "RS256"])
            #expect(early.status == 1 && early.errors.contains("no RS256 key is active"), "\(early.errors)")
            try await installation.step("activate", kid, "--force")
            #expect(try await installation.keys(use: "access-token").allSatisfy { $0.string("state") == "active" })
            let unknown = try await installation.run(client + ["--signing-algorithm", "HS256"])
            #expect(unknown.status == 2, "\(unknown.errors)")
            #expect(try await installation.run(client + ["--signing-algorithm", "RS256"]).status == 0)
            let needed = try await installation.run(["key", "retire", "--execute", "--reason", "r", "--", kid])
            #expect(needed.status == 1 && needed.errors.contains("old-sdk"), "\(needed.errors)")
            let shown = try await installation.object("client", "update", "old-sdk", "--no-signing-algorithm")
            #expect(shown["access_token_algorithm"] == .null)
            try await installation.step("retire", kid)
            let only = try await installation.run(["key", "retire", "--execute", "--reason", "r", "--", last])
            #expect(only.status == 1 && only.errors.contains("only active"), "\(only.errors)")
        }
    }

    // MARK: Steps

    @Test func `a key's life, step by step, each refused before its time and audited`() async throws {
        try await Installation.withSchema { installation in
            let old = try #require(try await installation.keys(use: "access-token").first?.string("kid"))
            try await installation.succeed("key", "generate", "--use", "access-token", "--pending")
            let new = try #require(
                try await installation.keys(use: "access-token").first { $0.string("state") == "pending" }?.string(
                    "kid"))
            #expect(try await !installation.succeed("jwks", "export").contains(new))
            let unpublished = try await installation.run(["key", "activate", "--", new])
            #expect(unpublished.status == 1)
            #expect(
                unpublished.errors == "native-sso: a pending key cannot be activated: publish it first, with "
                    + "native-sso key publish\n")
            try await installation.step("publish", new)
            #expect(try await installation.succeed("jwks", "export").contains(new))

            let early = try await installation.run(
                ["key", "activate", "--execute", "--reason", "r", "--", new])
            #expect(early.status == 1 && early.errors.contains("not every copy of the JWKS"), "\(early.errors)")
            #expect(early.errors.contains(/wait until 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ; --force/), "\(early.errors)")
            #expect(try await installation.state(of: new) == "published")
            // Without --execute the command only shows the plan.
            let shown = try await installation.run(["key", "activate", "--force", "--", new])
            #expect(shown.status == 0 && shown.output.contains("key \(old) is retired by it"), "\(shown.output)")
            #expect(try await installation.state(of: new) == "published")
            try await installation.step("activate", new, "--force")
            #expect(try await installation.state(of: new) == "active")
            #expect(try await installation.state(of: old) == "retired")

            let used = try await installation.run(["key", "remove", "--execute", "--reason", "r", "--", old])
            #expect(used.status == 1 && used.errors.contains("may be in use until 2"), "\(used.errors)")
            #expect(used.errors.contains(/T\d\d:\d\d:\d\dZ/))
            #expect(FileManager.default.fileExists(atPath: installation.file("keys/\(old).pem")))
            try await installation.step("remove", old, "--force")
            #expect(try await installation.state(of: old) == nil)
            #expect(!FileManager.default.fileExists(atPath: installation.file("keys/\(old).pem")))
            #expect(try await !installation.succeed("jwks", "export").contains(old))

            let acts = try await installation.audit().filter { $0.hasPrefix("key_") && !$0.hasPrefix("key_added") }
            #expect(
                acts.map { $0.prefix { $0 != "|" } }.sorted() == [
                    "key_active", "key_published", "key_removed", "key_retired",
                ])
            #expect(acts.allSatisfy { $0.contains("|rotation|") })
        }
    }

    /// Other brokers will sign with it, and readers of this broker's JWKS would refuse their tokens.
    @Test func `a broker that lacks a published key does not begin, and one that loses it later says so`() async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.succeed("key", "generate", "--use", "access-token", "--pending")
            let new = try #require(
                try await installation.keys(use: "access-token").first { $0.string("state") == "pending" }?.string(
                    "kid"))
            try await installation.step("publish", new)
            let (file, aside) = (installation.file("keys/\(new).pem"), installation.file("aside.pem"))
            try FileManager.default.moveItem(atPath: file, toPath: aside)
            let broker = try await Broker.start(installation)
            try await broker.wait { try await $0.get("/readyz").text.contains("published_key_not_loaded") }
            #expect(try await broker.get("/metrics").text.contains("native_sso_keys_not_loaded 1\n"))

            try FileManager.default.moveItem(atPath: aside, toPath: file)
            try await broker.waitUntilReady()
            #expect(try await broker.get("/.well-known/jwks.json").text.contains(new))
            #expect(try await broker.get("/metrics").text.contains("native_sso_keys_not_loaded 0\n"))

            try FileManager.default.moveItem(atPath: file, toPath: aside)
            broker.process.signal(SIGHUP)
            try await broker.wait { try await $0.get("/metrics").text.contains("native_sso_keys_not_loaded 1\n") }
            #expect(try await broker.get("/readyz").status == 200)
            #expect(broker.process.errors.contains("keys are not all usable"))
        }
    }

    @Test func `removing a refresh-token key says what it costs; the device key and the only active one stay`()
        async throws
    {
        try await Installation.withSchema { installation in
            func kid(_ use: String) async throws -> String {
                try #require(try await installation.keys(use: use).first?.string("kid"))
            }
            let (refresh, device) = (try await kid("refresh-token"), try await kid("device"))
            for (arguments, words) in [
                (["key", "retire", "--execute", "--reason", "r", "--", refresh], "only active"),
                (["key", "retire", "--force", "--execute", "--reason", "r", "--", device], "every session is lost"),
                (
                    ["key", "remove", "--force", "--execute", "--reason", "r", "--", refresh],
                    "an active key cannot be removed: activate its successor first"
                ),
            ] {
                let outcome = try await installation.run(arguments)
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome.errors)")
            }
            try await installation.step("retire", refresh, "--force")
            let shown = try await installation.run(["key", "remove", "--force", "--", refresh])
            #expect(shown.status == 0 && shown.output.contains("invalid_grant"), "\(shown.output)")
            #expect(try await installation.state(of: refresh) == "retired")
            #expect(try await installation.run(["key", "publish", "--", "no-such-key"]).status == 1)
        }
    }
}

extension Installation {
    func keys(use: String) async throws -> [JSONObject] {
        try await object("key", "list").array("keys")?.compactMap(\.object).filter { $0.string("use") == use } ?? []
    }

    /// `nil` for a key that was removed.
    func state(of kid: String) async throws -> String? {
        try await object("key", "list").array("keys")?.compactMap(\.object)
            .first { $0.string("kid") == kid }?.string("state")
    }

    func step(_ step: String, _ kid: String, _ options: String...) async throws {
        let outcome = try await run(
            ["key", step] + options + ["--execute", "--reason", "rotation", "--", kid])
        #expect(outcome.status == 0, "\(outcome.errors)")
    }
}
