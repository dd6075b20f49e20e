import BrokerHarness
import BrokerTesting
import Crypto
import Foundation
import StrictCoding
import Testing

extension Faults {
    /// The hand-off with real processes: an app brings its login to the broker and hands it to a web app, whose server asks
    /// another replica. Operators allow it and look at it by command.
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

            // Off until both members say so. The copy of the clients in the broker follows within seconds.
            let sql = try installation.session()
            let off = try await eventually("the broker knows the web app") { [request] in
                let answer = try await fixture.broker.token(request)
                #expect(answer.error == "invalid_grant", "\(answer.text)")
                let reason = try await sql.auditedReason(of: answer.requestID)
                return reason == "handoff_web_app_unusable" ? nil : reason
            }
            #expect(off == "handoff_not_allowed")
            try await installation.command(
                "group", "member", "add", "vendor", "app-one", "--role", "both", "--handoff", "bearer")
            let member = try await installation.command(
                "group", "member", "add", "vendor", "web-shop", "--role", "target", "--handoff-origin", Self.origin,
                "--json")
            #expect(
                try JSONReader.parse(Array(member.utf8)).object?.strings("handoff_origins") == [Self.origin])

            let made = try await fixture.broker.token(request)
            try #require(made.status == 200, "\(made.text)")
            #expect(made.json?.string("issued_token_type") == TokenForm.webHandoff)
            let code = try #require(made.json?.string("access_token"))
            let answer = try await eventually("the replica knows the web app") {
                let answer = try await redeem(code, verifier, secret, at: fixture.replica)
                return answer.error == "invalid_client" ? nil : answer
            }
            try #require(answer.status == 200, "\(answer.text)")
            #expect(answer.refreshToken == nil)
            let access = try UnverifiedToken.claims(of: try #require(answer.json?.string("access_token")))
            let idToken = try UnverifiedToken.claims(of: try #require(answer.json?.string("id_token")))
            #expect(access.string("client_id") == "web-shop" && idToken.string("aud") == "web-shop")
            #expect(idToken.string("sid") == access.string("session_id"))
            #expect(idToken.string("sub") == access.string("sub"))
            let session = try #require(access.string("session_id"))

            // An operator sees both requests.
            let explained = try await installation.command("explain", try #require(answer["X-Request-Id"]))
            #expect(explained.contains("redeemed the code that app app-one had got"), "\(explained)")
            #expect(explained.contains(try #require(made["X-Request-Id"])), "\(explained)")
            let asked = try await installation.command("explain", try #require(made["X-Request-Id"]))
            #expect(asked.contains("hands the login of app app-one to the web app web-shop"), "\(asked)")

            // A second browser does not end the first one's grant.
            let second = try await fixture.replica.token(request)
            let secondCode = try #require(second.json?.string("access_token"), "\(second.text)")
            #expect(try await redeem(secondCode, verifier, secret, at: fixture.broker).status == 200)
            let issuedAt = try #require(access.number("iat")?.int64)
            let lives = "SELECT native_sso.is_grant_live('\(session)', 'web-shop', to_timestamp(\(issuedAt)), 86400)"
            #expect(try await sql.row(lives) == "t")

            // The session's end ends the web app's grant, and refuses a code that waits.
            let third = try #require(try await fixture.broker.token(request).json?.string("access_token"))
            try await installation.command(
                "session", "end", "--issuer", fixture.provider.issuer, "--sid", session, "--execute", "--reason",
                "a test")
            let dead = try await redeem(third, verifier, secret, at: fixture.replica)
            #expect(dead.error == "invalid_grant" && dead.keepsContract, "\(dead.text)")
            #expect(try await sql.auditedReason(of: dead.requestID) == "session_ended")
            let why = try await installation.command("explain", try #require(dead["X-Request-Id"]))
            #expect(why.contains("the hand-off of a login to a web app") && why.contains("(session_ended)"), "\(why)")
            #expect(try await sql.row(lives) == "f")
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
