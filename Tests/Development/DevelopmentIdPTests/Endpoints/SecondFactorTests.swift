import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthWire
import StrictCoding
import Testing

@Suite struct SecondFactorTests {
    private static let totp = "urn:example:acr:totp"

    // RFC 6238 App. B, the last six digits.
    @Test(
        arguments: [
            (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
            (2_000_000_000, "279037"), (20_000_000_000, "353130"),
        ] as [(Int64, String)])
    func theDigitsAreThoseOfTheStandard(_ now: Int64, _ digits: String) throws {
        let password = try #require(TimeBasedPassword(base32: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"))
        #expect(password.digits(at: now) == digits)
        #expect("\(password)" == "****")
    }

    @Test(arguments: ["", "GEZDGNBVGY3TQOJQ", "gezdgnbvgy3tqojqgezdgnbvgy3tqojq", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1"])
    func aShortOrForeignSecretIsRefused(_ text: String) {
        #expect(TimeBasedPassword(base32: text) == nil)
    }

    @Test func anAppThatAsksForItGetsIt() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            _ = try await browser.code()
            // The session of the password is not enough.
            let silent = try await browser.authorize(["acr_values": Self.totp, "prompt": "none"])
            #expect(try TestBrowser.callback(silent)["error"] == "login_required")
            let page = try await browser.logIn(on: try await browser.authorize(["acr_values": "urn:x \(Self.totp)"]))
            let code = try Self.digits(of: "alice", at: provider.clock.now)
            let answer = try await browser.answer(page, at: "/second-factor", "code", code)
            let tokens = try await provider.redeem(try #require(try TestBrowser.callback(answer)["code"]))
            for claims in [try await provider.claims(tokens.idToken), try await provider.claims(tokens.accessToken)] {
                #expect(claims.string("acr") == Self.totp)
                #expect(claims.strings("amr") == ["pwd", "otp", "mfa"])
            }
            // And now it is.
            let strong = try await browser.authorize(["acr_values": Self.totp, "prompt": "none"])
            #expect(try TestBrowser.callback(strong)["code"] != nil)
        }
    }

    @Test func aCodeIsGoodOnceAndAPageForFive() async throws {
        try await TestProvider.run { provider in
            let code = try Self.digits(of: "alice", at: provider.clock.now)
            for (browser, status) in [
                (TestBrowser(provider), HTTPResponse.Status.seeOther), (TestBrowser(provider), .forbidden),
            ] {
                let page = try await browser.logIn(on: try await browser.authorize(["acr_values": Self.totp]))
                #expect(try await browser.answer(page, at: "/second-factor", "code", code).status == status)
            }
            // Five wrong ones use the page up.
            provider.clock.advance(by: 60)
            let browser = TestBrowser(provider)
            let page = try await browser.logIn(on: try await browser.authorize(["acr_values": Self.totp]))
            for _ in 1...5 {
                #expect(try await browser.answer(page, at: "/second-factor", "code", "00000").status == .forbidden)
            }
            let next = try Self.digits(of: "alice", at: provider.clock.now)
            #expect(try await browser.answer(page, at: "/second-factor", "code", next).status == .badRequest)
        }
    }

    /// carol's account always asks; bob has no second factor, so that his login stays what it is.
    @Test func theAccountDecidesToo() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let carol = try await browser.logIn(
                on: try await browser.authorize(), as: "carol", password: "carol-demo-password")
            #expect(String(buffer: carol.body).contains("action=\"/second-factor\""))
            let bob = try await TestBrowser(provider).logInAsBob()
            let tokens = try await provider.redeem(try #require(try TestBrowser.callback(bob)["code"]))
            #expect(try await provider.claims(tokens.idToken).string("acr") == "urn:example:acr:password")
        }
    }

    private static func digits(of username: String, at now: Int64) throws -> String {
        let user = try #require(UserDirectory.demonstration.users.first { $0.username == username })
        return try #require(user.secondFactor).digits(at: now)
    }
}

extension TestBrowser {
    fileprivate func logInAsBob() async throws -> TestResponse {
        try await logIn(
            on: try await authorize(["acr_values": "urn:example:acr:totp"]), as: "bob", password: "bob-demo-password")
    }
}
