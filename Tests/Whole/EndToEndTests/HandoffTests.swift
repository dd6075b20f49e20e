import BrokerHarness
import BrokerTesting
import Crypto
import Foundation
import StrictCoding
import Testing

extension Faults {
    /// The hand-off with real processes: an app brings its login to the broker and hands it to a web app, whose server asks
    /// another replica. An operator looks at it by command.
    struct HandoffTests {
        private static let origin = "https://web.example.test"

        @Test func fromLoginToWebApp() async throws {
            let fixture = try await EnrolmentFixture.shared
            let installation = fixture.installation
            try await installation.command(
                "client", "add", "web-shop", "--authentication", "client_secret_basic", "--audience",
                "https://api.example.test", "--allowed-scope", "openid profile", "--default-scope", "openid")
            let secret = try await installation.rotateSecret(of: "web-shop")
            let enrolled = try await fixture.broker.token(fixture.enrolment(fixture.freshToken(), .deviceSecret))
            let login = try #require(enrolled.json, "\(enrolled.text)")
            let verifier = Unguessable.make()
            var request = TokenForm.exchange(
                try #require(login.string("id_token")), issuer: installation.configuration.issuer,
                device: try #require(login.string("device_secret")), profile: .deviceSecret, client: "app-one")
            request["requested_token_type"] = TokenForm.webHandoff
            request["handoff_client"] = "web-shop"
            request["handoff_origin"] = Self.origin
            request["handoff_challenge"] = Base64URL.encode(Array(SHA256.hash(data: Data(verifier.utf8))))

            try await installation.command(
                "group", "member", "add", "vendor", "app-one", "--role", "both", "--handoff", "bearer")
            try await installation.command(
                "group", "member", "add", "vendor", "web-shop", "--role", "target", "--handoff-origin", Self.origin)

            // The copy of the clients in each broker follows within seconds. What is refused until then costs no code.
            let made = try await eventually("the broker knows the web app") { [request] in
                let answer = try await fixture.broker.token(request)
                return answer.error == "invalid_grant" ? nil : answer
            }
            try #require(made.status == 200, "\(made.text)")
            let code = try #require(made.json?.string("access_token"))
            let answer = try await eventually("the replica knows the web app") {
                let answer = try await redeem(code, verifier, secret, at: fixture.replica)
                return ["invalid_client", "invalid_grant"].contains(answer.error) ? nil : answer
            }
            try #require(answer.status == 200, "\(answer.text)")

            // An operator sees both requests.
            let explained = try await installation.command("explain", try #require(answer["X-Request-Id"]))
            #expect(explained.contains("redeemed the code that app app-one had got"), "\(explained)")
            #expect(explained.contains(try #require(made["X-Request-Id"])), "\(explained)")
            let asked = try await installation.command("explain", try #require(made["X-Request-Id"]))
            #expect(asked.contains("hands the login of app app-one to the web app web-shop"), "\(asked)")

            let used = try await redeem(code, verifier, secret, at: fixture.replica)
            #expect(try await fixture.reason(used) == "handoff_code_used")
            let why = try await installation.command("explain", used.requestID)
            for words in ["the hand-off of a login to a web app", "(handoff_code_used)"] {
                #expect(why.contains(words), "\(why)")
            }
            for broker in [fixture.broker, fixture.replica] {
                #expect(try !broker.logText().contains("nsh1.") && !broker.logText().contains(verifier))
            }
        }

        private func redeem(
            _ code: String, _ verifier: String, _ secret: String, at broker: Broker
        ) async throws -> HTTPAnswer {
            try await TokenForm.redemption(code, verifier: verifier, origin: Self.origin)
                .withSecret(secret, of: "web-shop").send(to: broker.publicPort)
        }
    }
}
