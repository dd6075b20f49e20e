import BrokerHarness
import Foundation
import Glibc
import PrivateCluster
import StrictCoding
import Testing

@Suite("native-sso key and jwks", .timeLimit(.minutes(10)))
struct KeyCommandTests {
    @Test func `a key that the registry did not take leaves no file; the first run makes an active key for each use`()
        async throws
    {
        try await Installation.withFiles { installation in
            func files() throws -> Set<String> {
                Set(try FileManager.default.contentsOfDirectory(atPath: installation.file("keys")))
            }
            func alter(_ change: String) async throws {
                try await installation.cluster.psql(
                    "ALTER TABLE native_sso.signing_key \(change)", database: installation.database)
            }
            try await installation.command("migrate", "up")
            try await alter("ADD CONSTRAINT refused CHECK (use <> 'refresh-token')")
            try await installation.expectFailure(["key", "generate", "--use", "refresh-token"], 1, "native-sso: ")
            #expect(try files().isEmpty)
            try await alter("DROP CONSTRAINT refused")
            let made = try await installation.object("key", "generate").array("keys")
            let keys = try #require(made).compactMap(\.object)
            #expect(keys.compactMap { $0.string("use") } == ["access-token", "refresh-token", "device"])
            #expect(keys.allSatisfy { $0.string("state") == "active" })
            #expect(try files() == Set(keys.compactMap { $0.string("file") }))
            try await installation.expectFailure(["key", "generate"], 1, "--use")
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

    @Test func `two timers at once make one successor; its steps are each refused before its time and audited`()
        async throws
    {
        let unit = try String(
            contentsOf: Checkout.root.appending(path: "deploy/packaging/native-sso-rotate.service"), encoding: .utf8)
        let start = try #require(
            unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=/usr/sbin/native-sso-admin ") })
        let rotate = start.split(separator: " ").dropFirst().map(String.init)
        try await Installation.withSchema { installation in
            func pass(_ time: String) async throws {
                try await installation.cluster.psql(
                    """
                    UPDATE native_sso.signing_key SET created_at = created_at - interval '\(time)',
                        published_at = published_at - interval '\(time)',
                        activated_at = activated_at - interval '\(time)',
                        retired_at = retired_at - interval '\(time)' WHERE use = 'access-token'
                    """, database: installation.database)
            }
            func states() async throws -> [String] {
                try await installation.keys(use: "access-token").compactMap { $0.string("state") }.sorted()
            }
            #expect(try await installation.command(rotate).contains("is not due"))
            try await pass("90 days")
            async let first = installation.run(rotate)
            async let second = installation.run(rotate)
            let outcomes = [try await first, try await second]
            #expect(outcomes.contains { $0.status == 0 && $0.output.contains("done: make and publish") })
            #expect(try await states() == ["active", "published"])
            #expect(try await installation.command(rotate).contains("do nothing before"))
            let keys = try await installation.keys(use: "access-token")
            let act = ["--execute", "--reason", "early", "--"]
            for (step, state, words, expected) in [
                ("activate", "published", "not every copy of the JWKS", ["active", "retired"]),
                ("remove", "active", "may be in use until 2", ["active"]),
            ] {
                let kid = try #require(keys.first { $0.string("state") == state }?.string("kid"))
                try await installation.expectFailure(["key", step] + act + [kid], 1, words)
                try await pass("25 hours")
                try await installation.command(rotate)
                #expect(try await states() == expected)
            }
            let acts = try await installation.audit().map { $0.prefix { $0 != "|" } }
            for kind in ["key_active", "key_retired", "key_removed"] {
                #expect(acts.contains { $0 == kind }, "\(acts)")
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: installation.file("keys"))
            #expect(files.filter { $0.hasSuffix(".pem") }.count == 1, "\(files)")
        }
    }

    /// A vendor whose apps know RS256 only has no ES256 key, and must not get one at night.
    @Test func `rotate makes the successor of an RSA key, of its size, and begins no other algorithm`() async throws {
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
                try JSONReader.parse(Array(try await installation.command("jwks", "export").utf8)).object)
            let moduli = (set.array("keys") ?? []).compactMap {
                $0.object?.string("n").flatMap { Base64URL.decode($0) }?.count
            }
            #expect(moduli == [384, 384])
            #expect(try await rotate() == ["RS256 active", "RS256 published"])
        }
    }

    @Test func `a suspension spares nothing that signs`() async throws {
        try await Installation.withSchema { installation in
            func kid(_ use: String) async throws -> String {
                try #require(try await installation.keys(use: use).first?.string("kid"))
            }
            func suspended() async throws -> [String] {
                try await installation.keys(use: "access-token").filter { $0.string("suspended_at") != nil }
                    .compactMap { $0.string("state") }.sorted()
            }
            let (refresh, device) = (try await kid("refresh-token"), try await kid("device"))
            try await installation.command("key", "generate", "--use", "access-token")
            let act = ["--execute", "--reason", "alarm"]
            // The successor too: a rotation must not let it sign.
            try await installation.command(["key", "suspend", "--use", "access-token"] + act)
            #expect(try await suspended() == ["active", "published"])
            for (arguments, words) in [
                (["suspend", "--use", "access-token"], "suspended already"),
                (["suspend", "--", device], "signs nothing"), (["rotate", "--now"], "is suspended: resume it"),
                (["retire"] + act + ["--", refresh], "only active"),
                (["retire", "--force"] + act + ["--", device], "every session is lost"),
                (
                    ["remove", "--force"] + act + ["--", refresh],
                    "an active key cannot be removed: activate its successor first"
                ),
            ] {
                try await installation.expectFailure(["key"] + arguments, 1, words)
            }
        }
    }

    /// One old SDK that knows only RS256 does not decide for all clients.
    @Test func `keys of two algorithms are active, and a client chooses one that is`() async throws {
        try await Installation.withSchema { installation in
            let client = [
                "client", "add", "old-sdk", "--audience", "https://api.example.com", "--signing-algorithm", "RS256",
            ]
            try await installation.command("key", "generate", "--use", "access-token", "--algorithm", "RS256")
            let keys = try await installation.keys(use: "access-token")
            let new = try #require(keys.first { $0.string("state") == "published" }?.string("kid"))
            try await installation.expectFailure(client, 1, "no RS256 key is active")
            try await installation.step("activate", new, "--force")
            #expect(try await installation.keys(use: "access-token").allSatisfy { $0.string("state") == "active" })
            try await installation.command(client)
            try await installation.expectFailure(
                ["key", "retire", "--execute", "--reason", "r", "--", new], 1, "old-sdk")
            let shown = try await installation.object("client", "update", "old-sdk", "--no-signing-algorithm")
            #expect(shown["access_token_algorithm"] == .null)
            try await installation.step("retire", new)
        }
    }

    /// Other brokers will sign with it, and readers of this broker's JWKS would refuse their tokens.
    @Test func `a broker that lacks a published key does not begin, and one that loses it later says so`() async throws
    {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            try await installation.command("key", "generate", "--use", "access-token", "--pending")
            let new = try #require(
                try await installation.keys(use: "access-token").first { $0.string("state") == "pending" }?.string(
                    "kid"))
            #expect(try await !installation.command("jwks", "export").contains(new))
            try await installation.step("publish", new)
            #expect(try await installation.command("jwks", "export").contains(new))
            let (file, aside) = (installation.file("keys/\(new).pem"), installation.file("aside.pem"))
            try FileManager.default.moveItem(atPath: file, toPath: aside)
            let broker = try await Broker.start(installation)
            try await broker.wait { try await $0.get("/readyz").text.contains("published_key_not_loaded") }
            #expect(try await broker.get("/metrics").text.contains("native_sso_keys_not_loaded 1\n"))

            try FileManager.default.moveItem(atPath: aside, toPath: file)
            try await broker.untilReady()
            #expect(try await broker.get("/.well-known/jwks.json").text.contains(new))
            for (command, path) in [("jwks", "jwks.json"), ("metadata", "openid-configuration")] {
                let served = try await broker.get("/.well-known/\(path)")
                #expect(try await installation.command(command, "export") == served.text + "\n")
                #expect(served.status == 200 && !served.text.isEmpty)
            }
            #expect(try await broker.get("/metrics").text.contains("native_sso_keys_not_loaded 0\n"))

            try FileManager.default.moveItem(atPath: file, toPath: aside)
            broker.process.signal(SIGHUP)
            try await broker.wait { try await $0.get("/metrics").text.contains("native_sso_keys_not_loaded 1\n") }
            #expect(try await broker.get("/readyz").status == 200)
            #expect(broker.process.errors.contains("keys are not all usable"))
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
        try await command(["key", step] + options + ["--execute", "--reason", "rotation", "--", kid])
    }
}
