import BrokerHarness
import Foundation
import JOSE
import StrictCoding
import Testing

/// Two brokers, each with a key directory and a signing key of its own.
@Suite("keys.replica", .timeLimit(.minutes(10)))
struct KeyReplicaTests {
    private struct Replica {
        let name: String
        let directory: String
        let installation: Installation

        var environment: [String: String] {
            ["NATIVE_SSO_KEYS_REPLICA": name, "NATIVE_SSO_KEYS_DIRECTORY": installation.file(directory)]
        }

        func run(_ arguments: String...) async throws -> String {
            let outcome = try await installation.run(arguments, environment: environment)
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output
        }
    }

    /// The key of a new access token.
    private func signer(_ broker: Broker, _ installation: Installation) async throws -> String? {
        let answer = try await broker.token(
            try Login(installation, sid: Unguessable.make()).exchange(by: "app2"))
        let token = try CompactJWS(try #require(answer.json?.string("access_token"), "\(answer.text)"))
        let keys = try JSONWebKeySet(document: Array(try await broker.get("/.well-known/jwks.json").text.utf8))
        _ = try token.verified(by: keys, allowing: [.es256])
        return token.header.keyID
    }

    @Test func `each signs by its own key, all verify, and a stolen directory is withdrawn alone`() async throws {
        try await Installation.withSchema { installation in
            try await installation.registerApps()
            let shared = try #require(try await installation.keys(use: "access-token").first?.string("kid"))
            try FileManager.default.createDirectory(
                atPath: installation.file("keys-b"), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            let a = Replica(name: "a", directory: "keys", installation: installation)
            let b = Replica(name: "b", directory: "keys-b", installation: installation)
            _ = try await a.run("key", "sync", "--to", installation.file("keys-b"))
            for replica in [a, b] { _ = try await replica.run("key", "generate", "--use", "access-token") }
            func kid(_ replica: String) async throws -> String {
                try #require(
                    try await installation.keys(use: "access-token").first { $0.string("replica") == replica }?.string(
                        "kid"))
            }
            let (first, second) = (try await kid("a"), try await kid("b"))

            // A broker that cannot publish the other's key does not begin.
            let one = try await Broker.start(installation, environment: a.environment)
            let two = try await Broker.start(installation, environment: b.environment)
            try await one.wait { try await $0.get("/readyz").text.contains("published_key_not_loaded") }
            _ = try await a.run("key", "sync", "--to", installation.file("keys-b"))
            _ = try await b.run("key", "sync", "--to", installation.file("keys"))
            // No private part was copied.
            for (path, other) in [("keys", second), ("keys-b", first)] {
                let names = try FileManager.default.contentsOfDirectory(atPath: installation.file(path))
                #expect(names.contains("\(other).jwk") && !names.contains("\(other).pem"), "\(names)")
            }
            for broker in [one, two] {
                try await broker.untilReady()
                #expect(try await signer(broker, installation) == shared)
            }
            for kid in [first, second] { try await installation.step("activate", kid, "--force") }
            #expect(try await installation.state(of: shared) == "active")
            for (broker, expected) in [(one, first), (two, second)] {
                try await broker.wait { try await signer($0, installation) == expected }
                let jwks = try await broker.get("/.well-known/jwks.json").text
                #expect([shared, first, second].allSatisfy { jwks.contains($0) })
            }
            let doctor = try await a.run("key", "doctor")
            #expect(doctor.contains("at the replica b"))
            // The timer of a replica rotates its own key.
            let early = try await b.run("key", "rotate")
            #expect(early.contains("not due"), "\(early)")

            // The directory of b is stolen.
            try await installation.step("retire", second)
            try await installation.step("remove", second, "--compromised")
            try await two.wait { try await signer($0, installation) == shared }
            for broker in [one, two] {
                try await broker.wait { try await !$0.get("/.well-known/jwks.json").text.contains(second) }
            }
            #expect(try await signer(one, installation) == first)
        }
    }
}
