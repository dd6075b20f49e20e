import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

@Suite("client secret and client key, as processes on a database", .timeLimit(.minutes(10)))
struct ClientCredentialCommandTests {
    private static func add(_ client: String, _ method: String, _ installation: Installation) async throws {
        try await installation.command("client", "add", client, "--audience", "a", "--authentication", method)
    }

    private static func jwk(_ key: TestKey, _ bend: (inout JSONObject) -> Void = { _ in }) -> String {
        var json = key.publicKey.json
        bend(&json)
        return String(decoding: json.octets, as: UTF8.self)
    }

    @Test func `a secret is random, and belongs to its method`() async throws {
        try await Installation.withSchema { installation in
            for method in ["none", "client_secret_basic", "private_key_jwt"] {
                try await Self.add("of-\(method)", method, installation)
            }
            var secrets: [String] = []
            for _ in 1...2 { secrets.append(try await installation.rotateSecret(of: "of-client_secret_basic")) }
            // 256 bits.
            #expect(secrets.allSatisfy { Base64URL.decode($0)?.count == 32 } && secrets[0] != secrets[1])

            try installation.write(Self.jwk(try TestKey.shared(.es256)), to: "key.jwk")
            for client in ["of-none", "of-private_key_jwt"] {
                for arguments in [["rotate", client], ["list", client], ["retire", client, "00000000"]] {
                    try await installation.expectFailure(["client", "secret"] + arguments, 1, "native-sso: ")
                }
            }
            for client in ["of-none", "of-client_secret_basic"] {
                let add = ["add", client, "--file", installation.file("key.jwk")]
                for arguments in [add, ["list", client], ["remove", client, "k"]] {
                    try await installation.expectFailure(["client", "key"] + arguments, 1, "native-sso: ")
                }
            }
        }
    }

    @Test func `a key is a public key for an assertion, and is there once`() async throws {
        try await Installation.withSchema { installation in
            try await Self.add("signer", "private_key_jwt", installation)
            let (curve, rsa, other) = (
                try TestKey.shared(.es256), try TestKey.shared(.rs256), try TestKey.shared(.es384)
            )
            let add = ["client", "key", "add", "signer", "--file", installation.file("key.jwk")]
            for (text, complaint) in [
                (Self.jwk(curve) { $0["d"] = .string("AA") }, "private key"),
                (#"{"kty":"oct","k":"AAAA"}"#, "private key"), (Self.jwk(other), "ES384"),
                (Self.jwk(other) { $0["alg"] = nil }, "no key for any of ES256, PS256, RS256"),
                (Self.jwk(rsa) { $0["alg"] = nil }, "--algorithm"),
                (Self.jwk(curve) { $0["use"] = .string("enc") }, "not a public key"),
                (Self.jwk(curve) { $0["x"] = $0["y"] }, "not a public key"),
                (Self.jwk(curve) { $0["kid"] = .string("k\u{e9}y") }, "kid"),
                (#"{"keys":[]}"#, "set of keys"), ("[]", "no JSON object"), ("", "no JSON object"),
            ] {
                try installation.write(text, to: "key.jwk")
                try await installation.expectFailure(add, 2, complaint)
            }
            try installation.write(Self.jwk(curve), to: "key.jwk")
            try await installation.expectFailure(add + ["--algorithm", "RS256"], 2, "the key is for ES256")
            #expect(try await installation.object("client", "key", "list", "signer").array("keys")?.isEmpty == true)

            let added = try await installation.object(add)
            #expect(added.string("kid") == "test-ES256" && added.string("algorithm") == "ES256")
            try await installation.expectFailure(add, 1, "test-ES256")
            // Nor under another kid: the removal of a key must remove every copy.
            try installation.write(Self.jwk(curve) { $0["kid"] = .string("alias") }, to: "key.jwk")
            try await installation.expectFailure(add, 1, "as test-ES256")
            let unnamed = Self.jwk(rsa) { json in
                json["alg"] = nil
                json["kid"] = nil
            }
            try installation.write(unnamed, to: "key.jwk")
            let second = try await installation.object(add + ["--algorithm", "PS256"])
            #expect(second.string("kid") == Base64URL.encode(rsa.publicKey.thumbprint))
            #expect(second.string("algorithm") == "PS256")
        }
    }
}
