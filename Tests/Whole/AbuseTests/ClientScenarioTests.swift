import Crypto
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// Clients that prove who they are, over more than one request.
    struct ClientScenarioTests {
        /// C-14: an assertion is good for one request.
        @Test func anAssertionIsGoodOnce() async throws {
            let stage = try await Stage.shared
            let assertion = try stage.assertion().signed()
            let first = try await stage.running.token(try stage.exchange().asserted(assertion))
            #expect(first.status == 200, "\(first.text)")
            let token = try #require(first.json?.string("refresh_token"))
            let before = try await stage.digest()
            for form in [try stage.exchange(), TokenForm.refresh(token, client: Stage.signer)] {
                let answer = try await stage.running.token(form.asserted(assertion))
                #expect(answer.status == 400 && answer.error == "invalid_client", "\(answer.text)")
                #expect(
                    try await stage.auditedReason(of: answer["X-Request-Id"] ?? "") == "client_assertion_replayed")
            }
            #expect(try await stage.digest() == before)
            // A new one for the same client is as good as ever.
            let refresh = TokenForm.refresh(token, client: Stage.signer).asserted(try stage.assertion().signed())
            #expect(try await stage.running.token(refresh).status == 200)
        }

        /// C-14: twenty at once, at two brokers: one success.
        @Test func anAssertionAtTwoBrokersAtOnce() async throws {
            let stage = try await Stage.shared
            let other = try stage.installation.startBroker("other")
            try await other.untilReady()
            let form = try stage.exchange().asserted(try stage.assertion().signed())
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for index in 0..<20 {
                    group.addTask { try await (index.isMultiple(of: 2) ? stage.running : other).token(form) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            await other.process.terminate()
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.status))")
            #expect(answers.allSatisfy { $0.status == 200 || $0.error == "invalid_client" })
        }

        /// A secret is replaced without an outage: both are good, and then only the new one, at a broker that runs.
        @Test func aSecretIsReplaced() async throws {
            let stage = try await Stage.shared
            let client = Stage.rotating
            let old = try await stage.installation.rotateSecret(of: client)
            try await untilStatus(200, with: old, stage)
            let new = try await stage.installation.rotateSecret(of: client)
            try await untilStatus(200, with: new, stage)
            try await untilStatus(200, with: old, stage)

            let third = try await stage.installation.run(["client", "secret", "rotate", client])
            #expect(third.status == 1)
            let listed = try await stage.installation.command("client", "secret", "list", client, "--json")
            let secrets = try #require(try JSONReader.parse(Array(listed.utf8)).object?.array("secrets"))
            #expect(secrets.count == 2)
            let older = try #require(secrets.compactMap { $0.object?.string("digest") }.first { $0 == Self.label(old) })
            try await stage.installation.command(
                "client", "secret", "retire", client, older, "--execute", "--reason", "rotated")
            try await untilStatus(401, with: old, stage)
            try await untilStatus(200, with: new, stage)
        }

        /// A key that is removed lets nobody in any more, at a broker that runs.
        @Test func aKeyIsRemoved() async throws {
            let stage = try await Stage.shared
            func status() async throws -> Int {
                let assertion = Assertion(
                    client: Stage.otherSigner, audience: Stage.broker, key: stage.keys.otherSigner)
                return try await stage.running.token(try stage.exchange().asserted(try assertion.signed())).status
            }
            #expect(try await status() == 200)
            try await stage.installation.command(
                "client", "key", "remove", Stage.otherSigner, "other-signer", "--execute", "--reason", "stolen")
            _ = try await eventually("the broker has heard of it") { try await status() == 400 ? true : nil }
            try await stage.installation.addKey(stage.keys.otherSigner, of: Stage.otherSigner)
            _ = try await eventually("and of the key's return") { try await status() == 200 ? true : nil }
        }

        /// Whoever presents nothing more than a refresh token of a confidential client gets nothing for it.
        @Test func aStolenRefreshTokenOfAConfidentialClient() async throws {
            let stage = try await Stage.shared
            let answer = try await stage.exchange().withSecret(stage.secret, of: Stage.confidential)
                .send(to: stage.running.publicPort)
            let token = try #require(answer.json?.string("refresh_token"), "\(answer.text)")
            let form = TokenForm.refresh(token, client: Stage.confidential)
            #expect(try await stage.running.token(form).error == "invalid_client")
            let wrong = try await form.withSecret("wrong", of: Stage.confidential).send(to: stage.running.publicPort)
            #expect(wrong.status == 401)
            let right = try await form.withSecret(stage.secret, of: Stage.confidential)
                .send(to: stage.running.publicPort)
            #expect(right.status == 200, "\(right.text)")
        }

        /// Neither secrets nor assertions are written down, by whoever presents them.
        @Test func nothingOfAClientsProofIsWrittenDown() async throws {
            let stage = try await Stage.shared
            let assertion = try stage.assertion().signed()
            for _ in 0..<2 { _ = try await stage.running.token(try stage.exchange().asserted(assertion)) }
            let wrong = Unguessable.make()
            let answer = try await stage.exchange().withSecret(wrong, of: Stage.confidential)
                .send(to: stage.running.publicPort)
            _ = try await stage.auditedReason(of: try #require(answer["X-Request-Id"]))
            let dump = try await stage.installation.cluster.run(
                "pg_dump", [stage.installation.cluster.connectionURI(database: stage.installation.database)])
            let signature = String(assertion.suffix(40))
            for text in [try stage.running.logText(), dump] {
                for needle in [wrong, stage.secret, signature] { #expect(!text.contains(needle)) }
            }
        }

        private func untilStatus(_ status: Int, with secret: String, _ stage: Stage) async throws {
            _ = try await eventually("\(status) for this secret") {
                let request = try stage.exchange().withSecret(secret, of: Stage.rotating)
                return try await request.send(to: stage.running.publicPort).status == status ? true : nil
            }
        }

        /// As `client secret list` names it.
        private static func label(_ secret: String) -> String {
            Hexadecimal.encode(Array(SHA256.hash(data: Array(secret.utf8))).prefix(4))
        }
    }
}
