import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("client secret and client key, as processes on a database", .timeLimit(.minutes(10)))
struct ClientCredentialCommandTests {
    private static func add(_ client: String, _ method: String, _ installation: Installation) async throws {
        try await installation.succeed("client", "add", client, "--audience", "a", "--authentication", method)
    }

    private static func jwk(_ key: TestKey, _ bend: (inout JSONObject) -> Void = { _ in }) -> String {
        var json = key.publicKey.json
        bend(&json)
        return String(decoding: json.octets, as: UTF8.self)
    }

    @Test func `a secret's life`() async throws {
        try await Installation.withSchema { installation in
            try await Self.add("server", "client_secret_basic", installation)
            #expect(
                try await installation.object("client", "show", "server").string("authentication")
                    == "client_secret_basic")
            let first = try await installation.object("client", "secret", "rotate", "server", "--reason", "launch")
            let second = try await installation.object("client", "secret", "rotate", "server")
            let secrets = try [first, second].map { try #require($0.string("client_secret")) }
            // 256 bits.
            #expect(secrets.allSatisfy { Base64URL.decode($0)?.count == 32 })
            #expect(secrets[0] != secrets[1])

            let third = try await installation.run(["client", "secret", "rotate", "server"])
            #expect(third.status == 1)
            #expect(third.errors.contains("client secret retire server \(first.string("digest") ?? "?")"))
            let listed = try await installation.object("client", "secret", "list", "server").array("secrets") ?? []
            #expect(listed.map { $0.object?.string("digest") } == [first, second].map { $0.string("digest") })

            let label = try #require(first.string("digest"))
            let plan = try await installation.run(["client", "secret", "retire", "server", label])
            #expect(plan.status == 0 && plan.output.hasPrefix("would retire secret \(label)"))
            try await installation.succeed(
                "client", "secret", "retire", "server", label, "--execute", "--reason", "rotated")
            let again = try await installation.run(["client", "secret", "retire", "server", label])
            #expect(again.status == 1)
            let last = try await installation.run(
                ["client", "secret", "retire", "server", second.string("digest") ?? ""])
            #expect(last.output.contains("it is the only one"))

            // The secret is shown once, and stored nowhere.
            let audit = try await installation.audit()
            #expect(audit.contains { $0.hasPrefix("client_secret_added|") && $0.contains("launch") })
            #expect(audit.contains { $0.hasPrefix("client_secret_retired|") && $0.contains(label) })
            let dump = try await installation.cluster.run(
                "pg_dump", [installation.cluster.connectionURI(database: installation.database)])
            for secret in secrets { #expect(!dump.contains(secret) && !audit.joined().contains(secret)) }
        }
    }

    @Test func `a key's life`() async throws {
        try await Installation.withSchema { installation in
            try await Self.add("signer", "private_key_jwt", installation)
            let curve = try TestKey.shared(.es256)
            let rsa = try TestKey.shared(.rs256)
            try installation.write(Self.jwk(curve), to: "curve.jwk")
            try installation.write(
                Self.jwk(rsa) {
                    $0["alg"] = nil
                    $0["kid"] = nil
                }, to: "rsa.jwk")
            let added = try await installation.object(
                "client", "key", "add", "signer", "--file", installation.file("curve.jwk"))
            #expect(added.string("kid") == "test-ES256")
            #expect(added.string("algorithm") == "ES256")
            let other = try await installation.object(
                "client", "key", "add", "signer", "--file", installation.file("rsa.jwk"), "--algorithm", "PS256")
            #expect(other.string("kid") == Base64URL.encode(rsa.publicKey.thumbprint))
            #expect(other.string("algorithm") == "PS256")

            let twice = try await installation.run(
                ["client", "key", "add", "signer", "--file", installation.file("curve.jwk")])
            #expect(twice.status == 1)
            // Nor under another kid: the removal of a key must remove every copy.
            try installation.write(Self.jwk(curve) { $0["kid"] = .string("alias") }, to: "alias.jwk")
            let alias = try await installation.run(
                ["client", "key", "add", "signer", "--file", installation.file("alias.jwk")])
            #expect(alias.status == 1 && alias.errors.contains("as test-ES256"), "\(alias.errors)")
            let listed = try await installation.object("client", "key", "list", "signer").array("keys") ?? []
            #expect(Set(listed.compactMap { $0.object?.string("algorithm") }) == ["ES256", "PS256"])

            let plan = try await installation.run(["client", "key", "remove", "signer", "test-ES256"])
            #expect(plan.status == 0 && plan.output.contains("Nothing was changed"))
            try await installation.succeed(
                "client", "key", "remove", "signer", "test-ES256", "--execute", "--reason", "rotated")
            #expect(try await installation.run(["client", "key", "remove", "signer", "test-ES256"]).status == 1)
            #expect(try await installation.object("client", "key", "list", "signer").array("keys")?.count == 1)
        }
    }

    @Test func `what is no public key for an assertion is exit 2`() async throws {
        try await Installation.withSchema { installation in
            try await Self.add("signer", "private_key_jwt", installation)
            let (curve, rsa) = (try TestKey.shared(.es256), try TestKey.shared(.rs256))
            for (text, complaint) in [
                (Self.jwk(curve) { $0["d"] = .string("AA") }, "private key"),
                (#"{"kty":"oct","k":"AAAA"}"#, "private key"),
                (Self.jwk(try TestKey.shared(.es384)), "ES384"),
                (Self.jwk(try TestKey.shared(.es384)) { $0["alg"] = nil }, "no key for any of ES256, PS256, RS256"),
                (Self.jwk(rsa) { $0["alg"] = nil }, "--algorithm"),
                (Self.jwk(curve) { $0["use"] = .string("enc") }, "not a public key"),
                (Self.jwk(curve) { $0["x"] = $0["y"] }, "not a public key"),
                (Self.jwk(curve) { $0["kid"] = .string("k\u{e9}y") }, "kid"),
                (#"{"keys":[]}"#, "set of keys"), ("[]", "no JSON object"), ("", "no JSON object"),
            ] {
                try installation.write(text, to: "key.jwk")
                let outcome = try await installation.run(
                    ["client", "key", "add", "signer", "--file", installation.file("key.jwk")])
                #expect(outcome.status == 2, "\(text)")
                #expect(outcome.errors.contains(complaint), "\(outcome.errors)")
                #expect(outcome.output.isEmpty)
            }
            try installation.write(Self.jwk(curve), to: "key.jwk")
            for surplus in [["--kid", "another"], ["--algorithm", "RS256"]] {
                let outcome = try await installation.run(
                    ["client", "key", "add", "signer", "--file", installation.file("key.jwk")] + surplus)
                #expect(outcome.status == 2, "\(outcome.errors)")
            }
            #expect(try await installation.object("client", "key", "list", "signer").array("keys")?.isEmpty == true)
        }
    }

    @Test func `a client has what belongs to its method, and what is not there is exit 1`() async throws {
        try await Installation.withSchema { installation in
            for method in ["none", "client_secret_basic", "private_key_jwt"] {
                try await Self.add("of-\(method)", method, installation)
            }
            try installation.write(Self.jwk(try TestKey.shared(.es256)), to: "key.jwk")
            let file = installation.file("key.jwk")
            for client in ["of-none", "of-private_key_jwt", "nobody"] {
                for arguments in [["rotate", client], ["list", client], ["retire", client, "00000000"]] {
                    #expect(try await installation.run(["client", "secret"] + arguments).status == 1)
                }
            }
            for client in ["of-none", "of-client_secret_basic", "nobody"] {
                for arguments in [["add", client, "--file", file], ["list", client], ["remove", client, "k"]] {
                    #expect(try await installation.run(["client", "key"] + arguments).status == 1)
                }
            }
            // The registered key stays unchanged.
            let changed = try await installation.run(["client", "update", "of-none", "--authentication", "none"])
            #expect(changed.status == 2)
        }
    }
}
