import StrictCoding
import SystemTesting
import Testing

extension Abuse {
    /// Back-channel logout is not offered: whoever calls it learns that there is nothing, and ends nobody's session.
    struct LogoutTests {
        struct LogoutToken: Sendable, CustomTestStringConvertible {
            let id: String
            let title: String
            let bend: @Sendable (inout IDToken, Stage) -> Void

            init(_ id: String, _ title: String, _ bend: @escaping @Sendable (inout IDToken, Stage) -> Void) {
                self.id = id
                self.title = title
                self.bend = bend
            }

            var testDescription: String { "\(id) \(title)" }
        }

        static let tokens = [
            LogoutToken("L-02", "a bad signature") { token, stage in token.key = stage.keys.attacker },
            LogoutToken("L-03", "another typ") { token, _ in token.header["typ"] = .string("JWT") },
            LogoutToken("L-04", "another audience") { token, _ in token.claims["aud"] = .string("nobody") },
            LogoutToken("L-05", "expired") { token, _ in token.claims["exp"] = .number(JSONNumber(0)) },
            LogoutToken("L-06", "neither sub nor sid") { token, _ in
                token.claims["sub"] = nil
                token.claims["sid"] = nil
            },
            LogoutToken("L-08", "a nonce") { token, _ in token.claims["nonce"] = .string("n") },
            LogoutToken("L-09", "no jti") { token, _ in token.claims["jti"] = nil },
            LogoutToken("L-11", "an id_token") { token, _ in
                token.header["typ"] = .string("JWT")
                token.claims["events"] = nil
            },
            LogoutToken("L-13", "another issuer's sid") { token, stage in
                token.claims["iss"] = .string(stage.otherIssuer)
            },
            LogoutToken("L-15", "a good one") { _, _ in },
            LogoutToken("L-16", "an unknown sid") { token, _ in token.claims["sid"] = .string(Unguessable.make()) },
        ]

        @Test(arguments: tokens) func nobodyTakesALogoutToken(_ logout: LogoutToken) async throws {
            let stage = try await Stage.shared
            let chain = try await stage.chain()
            var token = chain.login.token
            token.header["typ"] = .string("logout+jwt")
            token.claims["jti"] = .string(Unguessable.make())
            token.claims["events"] = try JSONText.value(#"{"http://schemas.openid.net/event/backchannel-logout":{}}"#)
            logout.bend(&token, stage)
            var request = HTTPRequest.token([("logout_token", try token.signed())])
            request.target = "/backchannel-logout"
            let before = try await stage.digest()
            for port in [stage.running.internalPort, stage.running.publicPort] {
                let answer = try await request.send(to: port)
                #expect(answer.status == 404 && answer.error == "invalid_request", "\(answer.text)")
            }
            #expect(try await stage.digest() == before)
            #expect(
                try await stage.running.token(.refresh(chain.refreshToken, client: Stage.target)).status == 200)
        }
    }
}
