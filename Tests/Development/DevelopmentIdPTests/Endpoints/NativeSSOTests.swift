import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import OAuthWire
import StrictCoding
import Testing

/// What the stamping provider adds for both profiles of Native SSO, and the plain one leaves out.
@Suite struct NativeSSOTests {
    @Test func aDeviceIdentifierStampsTheIDToken() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let answer = try await provider.redeem(try await browser.code(), deviceID: "95twdf3w4y6wvftw35634t")
            let claims = try await provider.claims(answer.idToken)
            #expect(claims.string("di_hash") == "b2011aotZ8lT3eslukasAg")
            #expect(claims.string("sid")?.utf8.count == 43)
            #expect(!claims.contains("ds_hash"))
            #expect(answer.deviceSecret == nil)
            let refreshed = try await provider.claims(try await provider.refresh(answer.refreshToken).idToken)
            #expect(refreshed.string("di_hash") == "b2011aotZ8lT3eslukasAg")
            #expect(refreshed.string("sid") == claims.string("sid"))
            // One that is unusable is refused, and the code stays good.
            let code = try await browser.code()
            for deviceID in [
                String(repeating: "a", count: 21), String(repeating: "a", count: 513), "95twdf3w4y6wvftw35634ä",
            ] {
                #expect(try await provider.redeem(code, deviceID: deviceID).error == "invalid_request")
            }
            let second = try await provider.redeem(code)
            #expect(second.status == .ok)
            // Two logins are two sessions.
            #expect(try await provider.claims(second.idToken).string("sid") != claims.string("sid"))
        }
    }

    @Test func aKnownSecretIsKeptAndAnUnknownOneReplaced() async throws {
        try await TestProvider.run { provider in
            let browser = TestBrowser(provider)
            let scope = "openid device_sso"
            let first = try await provider.redeem(try await browser.code(scope: scope))
            let kept = try await provider.redeem(
                try await browser.code(scope: scope), deviceSecret: try #require(first.deviceSecret))
            #expect(kept.deviceSecret == first.deviceSecret)
            let unknown = String(repeating: "A", count: 43)
            let replaced = try await provider.redeem(try await browser.code(scope: scope), deviceSecret: unknown)
            #expect(replaced.status == .ok)
            #expect(replaced.deviceSecret != nil)
            #expect(replaced.deviceSecret != unknown)
            #expect(replaced.deviceSecret != first.deviceSecret)
            // And so is another user's.
            let page = try await browser.authorize(["scope": scope, "prompt": "login"])
            let login = try await browser.logIn(on: page, as: "bob", password: "bob-demo-password")
            let bob = try await provider.redeem(
                try #require(try TestBrowser.callback(login)["code"]), deviceSecret: try #require(first.deviceSecret))
            #expect(bob.deviceSecret != nil)
            #expect(bob.deviceSecret != first.deviceSecret)
            // A refresh keeps the secret that it is sent.
            let last = try await provider.redeem(try await browser.code(scope: scope + " offline_access"))
            let answer = try await provider.token([
                "grant_type": "refresh_token", "client_id": "app-one", "refresh_token": last.refreshToken ?? "",
                "device_secret": last.deviceSecret ?? "",
            ])
            #expect(answer.deviceSecret == last.deviceSecret)
            #expect(
                try await provider.claims(answer.idToken).string("ds_hash")
                    == provider.claims(last.idToken).string("ds_hash"))
        }
    }

    @Test func aPlainProviderKnowsNothingOfIt() async throws {
        try await TestProvider.run(mode: .plain) { provider in
            let answer = try await provider.redeem(
                try await TestBrowser(provider).code(scope: "openid device_sso"), deviceID: "short")
            #expect(answer.status == .ok)
            #expect(answer.json.string("scope") == "openid")
            #expect(answer.deviceSecret == nil)
            let claims = try await provider.claims(answer.idToken)
            for name in ["sid", "di_hash", "ds_hash"] { #expect(!claims.contains(name), "\(name)") }
        }
    }
}
