import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import StrictCoding
import Testing

@testable import DevelopmentIdP

@Suite struct LogoutControllerTests {
    @Test func anIDTokenEndsItsSessionAndEverythingInIt() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let tokens = try await provider.redeem(try await browser.code())
            let claims = try await provider.claims(tokens.idToken)
            provider.clock.advance(by: 3600)  // the id_token has expired, and still serves as a hint
            let answer = try await browser.get(
                logout([
                    ("id_token_hint", tokens.idToken ?? ""), ("post_logout_redirect_uri", "com.example.one:/bye"),
                    ("state", "s"),
                ]))
            let callback = try TestBrowser.callback(answer, at: "com.example.one:/bye")
            #expect(callback["state"] == "s")
            #expect(await browser.cookies["development_idp_session_0"] == nil)
            #expect(try await provider.refresh(tokens.refreshToken).error == "invalid_grant")
            let ended = EndedSession(
                sid: try #require(claims.string("sid")), subject: "248289761001", clients: ["app-one"])
            #expect(await provider.logouts.all == [ended])
            // From outside the browser, too, and twice.
            let next = try await provider.redeem(try await browser.code())
            for _ in 1...2 {
                let hint = [("id_token_hint", next.idToken ?? "")]
                #expect(try await TestBrowser(provider).get(logout(hint)).status == .ok)
            }
            #expect(
                try TestBrowser.callback(try await browser.authorize(["prompt": "none"]))["error"] == "login_required")
            #expect(await provider.logouts.all.count == 2)
        }
    }

    @Test func aPlainProviderEndsTheSessionOfTheBrowser() async throws {
        try await TestProvider.run(mode: .plain) { provider in
            let browser = TestBrowser(provider)
            let tokens = try await provider.redeem(try await browser.code())
            #expect(try await browser.get(logout([("id_token_hint", tokens.idToken ?? "")])).status == .ok)
            #expect(await provider.logouts.all.map(\.subject) == ["248289761001"])
            #expect(try await provider.refresh(tokens.refreshToken).error == "invalid_grant")
        }
    }

    @Test func withoutAnIDTokenTheUserIsAsked() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            let page = try await browser.get("/logout")
            #expect(await provider.logouts.all.isEmpty)
            #expect(try await browser.post("/logout", [("csrf_token", "x")]).status == .ok)
            #expect(await provider.logouts.all.isEmpty)
            let token = try #require(TestBrowser.hidden("csrf_token", in: String(buffer: page.body)))
            #expect(try await browser.post("/logout", [("csrf_token", token)]).status == .ok)
            #expect(await provider.logouts.all.count == 1)
        }
    }

    @Test func aForeignHintOrAddressEndsNothing() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let tokens = try await provider.redeem(try await browser.code())
            let idToken = try #require(tokens.idToken)
            for parameters in [
                [("id_token_hint", "eyJ.x.y")], [("id_token_hint", idToken + "A")],
                [("id_token_hint", idToken), ("client_id", "app-two")],
                [("id_token_hint", idToken), ("post_logout_redirect_uri", "https://evil.example/")],
                [("post_logout_redirect_uri", "com.example.one:/bye")],
            ] {
                #expect(try await browser.get(logout(parameters)).status == .badRequest, "\(parameters.map(\.0))")
            }
            #expect(await provider.logouts.all.isEmpty)
        }
    }

    private func logout(_ parameters: [(String, String)]) -> String {
        "/logout?"
            + String(decoding: FormEncoder.encode(parameters.map { (name: $0.0, value: $0.1) }), as: UTF8.self)
    }
}
