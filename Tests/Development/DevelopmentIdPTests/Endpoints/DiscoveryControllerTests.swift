import DevelopmentIdP
import HTTPTypes
import HummingbirdTesting
import JOSE
import NIOCore
import StrictCoding
import Testing

@Suite struct DiscoveryControllerTests {
    @Test(arguments: ProviderMode.allCases)
    func theMetadataSayWhatTheProviderDoes(_ mode: ProviderMode) async throws {
        try await TestProvider.run(mode: mode) { provider in
            let response = try await provider.http.execute(uri: "/.well-known/openid-configuration", method: .get)
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "application/json")
            let json = try #require(try JSONReader.parse(response.body.readableBytesView).object)
            #expect(json.string("issuer") == TestProvider.issuer)
            #expect(json.string("jwks_uri") == TestProvider.issuer + "/.well-known/jwks.json")
            #expect(json.strings("code_challenge_methods_supported") == ["S256"])
            #expect(json.strings("response_types_supported") == ["code"])
            #expect(json.bool("authorization_response_iss_parameter_supported") == true)
            #expect(json.bool("native_sso_supported") == (mode == .stamping ? true : nil))
            #expect(json.strings("scopes_supported")?.contains("device_sso") == (mode == .stamping))
        }
    }

    @Test(arguments: SigningAlgorithm.allCases)
    func theKeySetHoldsThePublicKeyOnly(_ algorithm: SigningAlgorithm) async throws {
        try await TestProvider.run(algorithm: algorithm) { provider in
            let response = try await provider.http.execute(uri: "/.well-known/jwks.json", method: .get)
            let keys = try JSONWebKeySet(document: response.body.readableBytesView)
            #expect(keys.keys == [provider.signingKeys.current.publicKey])
            #expect(keys.skipped.isEmpty)  // a private key would be skipped
        }
    }

    @Test func anIDTokenOfAnOlderKeyStillServesAsAHintAndNothingElseIsThere() async throws {
        try await TestProvider.run { provider in
            let old = try await provider.redeem(try await TestBrowser(provider).code())
            try provider.signingKeys.rotate()
            let hint = "/logout?id_token_hint=\(try #require(old.idToken))"
            #expect(try await TestBrowser(provider).get(hint).status == .ok)
            // Nothing else is there.
            for (path, method) in [("/admin", HTTPRequest.Method.get), ("/token", .get), ("/login", .get)] {
                let response = try await provider.http.execute(uri: path, method: method)
                #expect(response.status == .notFound)
            }
        }
    }
}
