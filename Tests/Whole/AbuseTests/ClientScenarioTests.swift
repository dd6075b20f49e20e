import BrokerHarness
import BrokerTesting
import Crypto
import PrivateCluster
import StrictCoding
import Testing

extension Abuse {
    /// Client authentication over several requests.
    struct ClientScenarioTests {
        /// C-14: an assertion is good for one request.
        @Test func anAssertionIsGoodOnce() async throws {
            let fixture = try await Fixture.shared
            let assertion = try fixture.assertion().signed()
            let token = try await fixture.expectGranted(try fixture.exchange().asserted(assertion))
            let refresh = TokenForm.refresh(token, client: Fixture.signer)
            let before = try await fixture.digest()
            for form in [try fixture.exchange(), refresh] {
                let answer = try await fixture.running.token(form.asserted(assertion))
                #expect(answer.status == 400 && answer.error == "invalid_client", "\(answer.text)")
                #expect(
                    try await fixture.sql.auditedReason(of: answer.requestID) == "client_assertion_replayed")
            }
            #expect(try await fixture.digest() == before)
            // A new assertion of the same client succeeds.
            try await fixture.expectGranted(refresh.asserted(try fixture.assertion().signed()))
        }

        /// C-14: two brokers get twenty copies of one assertion at once: one success.
        @Test func anAssertionAtTwoBrokersAtOnce() async throws {
            let fixture = try await Fixture.shared
            let request = HTTPRequest.token(
                try fixture.exchange().asserted(try fixture.assertion().signed()).parameters)
            let answers = try await atOnce(20) { try await request.send(to: fixture.ports[$0 % 2]) }
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.status))")
            #expect(answers.allSatisfy { $0.status == 200 || $0.error == "invalid_client" })
        }

        /// A secret is replaced while the broker runs: first both secrets are good, then only the new one.
        @Test func aSecretIsReplaced() async throws {
            let fixture = try await Fixture.shared
            let client = Fixture.rotating
            let old = try await fixture.installation.rotateSecret(of: client)
            try await untilStatus(200, with: old, fixture)
            let new = try await fixture.installation.rotateSecret(of: client)
            try await untilStatus(200, with: new, fixture)
            try await untilStatus(200, with: old, fixture)

            let third = try await fixture.installation.run(["client", "secret", "rotate", client])
            #expect(third.status == 1)
            let listed = try await fixture.installation.command("client", "secret", "list", client, "--json")
            let secrets = try #require(try JSONReader.parse(Array(listed.utf8)).object?.array("secrets"))
            #expect(secrets.count == 2)
            let older = try #require(secrets.compactMap { $0.object?.string("digest") }.first { $0 == Self.label(old) })
            try await fixture.installation.command(
                "client", "secret", "retire", client, older, "--execute", "--reason", "rotated")
            try await untilStatus(401, with: old, fixture)
            try await untilStatus(200, with: new, fixture)
        }

        /// A running broker refuses a removed key at once.
        @Test func aKeyIsRemoved() async throws {
            let fixture = try await Fixture.shared
            func status() async throws -> Int {
                let assertion = Assertion(
                    client: Fixture.otherSigner, audience: Fixture.broker, key: fixture.keys.otherSigner)
                return try await fixture.running.token(try fixture.exchange().asserted(try assertion.signed())).status
            }
            #expect(try await status() == 200)
            try await fixture.installation.command(
                "client", "key", "remove", Fixture.otherSigner, "other-signer", "--execute", "--reason", "stolen")
            _ = try await eventually("the broker has heard of it") { try await status() == 400 ? true : nil }
            try await fixture.installation.addKey(fixture.keys.otherSigner, of: Fixture.otherSigner)
            _ = try await eventually("and of the key's return") { try await status() == 200 ? true : nil }
        }

        /// A thief with only the refresh token of a confidential client gets nothing.
        @Test func aStolenRefreshTokenOfAConfidentialClient() async throws {
            let fixture = try await Fixture.shared
            func send(_ form: TokenForm, _ secret: String) async throws -> HTTPAnswer {
                try await form.withSecret(secret, of: Fixture.confidential).send(to: fixture.running.publicPort)
            }
            let answer = try await send(try fixture.exchange(), fixture.secret)
            let token = try #require(answer.json?.string("refresh_token"), "\(answer.text)")
            let form = TokenForm.refresh(token, client: Fixture.confidential)
            #expect(try await fixture.running.token(form).error == "invalid_client")
            #expect(try await send(form, "wrong").status == 401)
            #expect(try await send(form, fixture.secret).status == 200)
        }

        /// Database and logs have neither secrets nor assertions, valid or not.
        @Test func nothingOfAClientsProofIsWrittenDown() async throws {
            let fixture = try await Fixture.shared
            let traces = try Traces(fixture)
            let assertion = try fixture.assertion().signed()
            let form = try fixture.exchange().asserted(assertion)
            try await fixture.expectGranted(form)
            let replayed = try await fixture.running.token(form)
            let wrong = Unguessable.make()
            let refused = try await fixture.exchange().withSecret(wrong, of: Fixture.confidential)
                .send(to: fixture.running.publicPort)
            let reasons = try await fixture.auditedReasons(of: [replayed.requestID, refused.requestID])
            #expect(reasons[replayed.requestID] == "client_assertion_replayed")
            #expect(reasons[refused.requestID] == "client_authentication_failed")
            let dump = try await fixture.installation.cluster.run(
                "pg_dump", [fixture.installation.cluster.connectionURI(database: fixture.installation.database)])
            var secrets = SecretSearch()
            for (secret, name) in [(wrong, "wrong"), (fixture.secret, "right"), (assertion, "assertion")] {
                secrets.add(secret, name)
            }
            let written = try await traces.text(ofRequests: [refused.requestID], fixture) + dump
            // The broker compares a client's secret with its digest.
            #expect(secrets.findings(in: written).allSatisfy { $0.hasPrefix("SHA-256") })
        }

        private func untilStatus(_ status: Int, with secret: String, _ fixture: Fixture) async throws {
            _ = try await eventually("\(status) for this secret") {
                let request = try fixture.exchange().withSecret(secret, of: Fixture.rotating)
                return try await request.send(to: fixture.running.publicPort).status == status ? true : nil
            }
        }

        /// The label in `client secret list`.
        private static func label(_ secret: String) -> String {
            Hexadecimal.encode(Array(SHA256.hash(data: Array(secret.utf8))).prefix(4))
        }
    }
}
