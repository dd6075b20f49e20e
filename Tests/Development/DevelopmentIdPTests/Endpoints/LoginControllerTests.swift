import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@Suite struct LoginControllerTests {
    @Test func aWrongPasswordShowsThePageAgainFourTimes() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.authorize()
            let again = try await browser.logIn(on: page, password: "wrong")
            #expect(again.status == .forbidden)
            #expect(String(buffer: again.body).contains("User name or password is wrong."))
            #expect(try await browser.logIn(on: again).status == .seeOther)
            // An unknown user looks the same.
            let next = try await browser.authorize(["prompt": "login"])
            let answer = try await browser.logIn(on: next, as: "mallory\"><b>", password: "")
            #expect(answer.status == .forbidden)
            #expect(String(buffer: answer.body).contains("value=\"mallory&quot;&gt;&lt;b&gt;\""))
            // A page is used up after five of them.
            for _ in 1...4 { #expect(try await browser.logIn(on: next, password: "no").status == .forbidden) }
            #expect(try await browser.logIn(on: next).status == .badRequest)
        }
    }

    @Test func aFormIsGoodInItsOwnBrowserWithItsTokenOnceAndForTenMinutes() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let page = try await browser.authorize()
            #expect(try await TestBrowser(provider).logIn(on: page).status == .badRequest)
            let transaction = try #require(TestBrowser.hidden("transaction", in: String(buffer: page.body)))
            for token in ["", "x"] {
                let answer = try await browser.post(
                    "/login",
                    [
                        ("transaction", transaction), ("csrf_token", token), ("username", "alice"),
                        ("password", "alice-demo-password"),
                    ])
                #expect(answer.status == .badRequest)
            }
            #expect(try await browser.logIn(on: page).status == .seeOther)
            #expect(try await browser.logIn(on: page).status == .badRequest)
            let late = try await browser.authorize(["prompt": "login"])
            provider.clock.advance(by: 600)
            #expect(try await browser.logIn(on: late).status == .badRequest)
        }
    }

    @Test func aPlantedCookieDoesNotBecomeASession() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let planted = String(repeating: "A", count: 43)
            await browser.set(cookie: "development_idp_session_0", planted)
            _ = try await browser.code()
            #expect(await browser.cookies["development_idp_session_0"] != planted)
        }
    }
}
