import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

@Suite struct ProviderMetadataTests {
    private func refusal(_ document: String, loopback: Bool = false) -> ProviderMetadataError? {
        do {
            _ = try ProviderMetadata(
                document: Array(document.utf8), issuer: TestProvider.issuer,
                hosts: ["idp.example.com", "keys.example.com", "127.0.0.1"], allowsLoopbackHTTP: loopback)
            return nil
        } catch {
            return error
        }
    }

    private func document(issuer: String = "https://idp.example.com", keys: String) -> String {
        #"{"issuer":"\#(issuer)","jwks_uri":"\#(keys)","x":[1]}"#
    }

    @Test func honestDocuments() throws {
        #expect(refusal(document(keys: "https://idp.example.com/jwks")) == nil)
        #expect(refusal(document(keys: "https://IDP.example.com:8443/jwks?v=1")) == nil)
        #expect(refusal(document(keys: "https://keys.example.com/jwks")) == nil)
        #expect(refusal(document(keys: "http://127.0.0.1:9000/jwks"), loopback: true) == nil)
        let metadata = try ProviderMetadata(
            document: Array(
                #"{"issuer":"https:\/\/idp.example.com","jwks_uri":"https:\/\/idp.example.com\/k","#.utf8)
                + Array(#""id_token_signing_alg_values_supported":["none","HS256","RS256","ES256"]}"#.utf8),
            issuer: TestProvider.issuer, hosts: ["idp.example.com"])
        #expect(metadata.jwksURI.string == "https://idp.example.com/k")
    }

    /// The broker does not use it, so it refuses no document because of it.
    @Test(arguments: [
        (#""https://login.example.net/authorize?tenant=7""#, "https://login.example.net/authorize?tenant=7"),
        (#""http://idp.example.com/authorize""#, nil), (#""javascript:alert(1)""#, nil), ("7", nil),
        (#""https://idp.example.com/a#b""#, nil),
    ])
    func theAuthorizationEndpoint(json: String, expected: String?) throws {
        let metadata = try ProviderMetadata(
            document: Array(
                #"{"issuer":"https://idp.example.com","jwks_uri":"https://idp.example.com/k","#.utf8)
                + Array(#""authorization_endpoint":\#(json)}"#.utf8),
            issuer: TestProvider.issuer, hosts: ["idp.example.com"])
        #expect(metadata.endpoints.authorization?.string == expected)
    }

    // W-15
    @Test(arguments: [
        "https://idp.example.com/", "https://IDP.example.com", "http://idp.example.com", "https://evil.example", "",
        "https://idp.example.com\\u0000",
    ])
    func anotherIssuer(issuer: String) {
        #expect(refusal(document(issuer: issuer, keys: "https://idp.example.com/jwks")) == .issuerMismatch)
    }

    // W-15
    @Test(arguments: [
        ("https://evil.example/jwks", ProviderMetadataError.foreignKeySetHost),
        ("https://idp.example.com.evil.example/jwks", .foreignKeySetHost),
        ("https://169.254.169.254/", .foreignKeySetHost),
        ("http://idp.example.com/jwks", .badKeySetURL), ("http://127.0.0.1/jwks", .badKeySetURL),
        ("https://idp.example.com@evil.example/", .badKeySetURL), ("https://u:p@idp.example.com/", .badKeySetURL),
        ("file:///etc/passwd", .badKeySetURL), ("//idp.example.com/jwks", .badKeySetURL), ("/jwks", .badKeySetURL),
        ("https:///jwks", .badKeySetURL), ("https://idp.example.com/#x", .badKeySetURL), ("", .badKeySetURL),
        ("https://idp.example.com/a b", .badKeySetURL), ("https://idp.example.com/\\r\\nX: y", .badKeySetURL),
    ])
    func anotherPlaceForTheKeys(url: String, error: ProviderMetadataError) {
        #expect(refusal(document(keys: url)) == error)
    }

    @Test func garbage() {
        #expect(refusal("<html>") == .notJSON(.unexpectedByte(offset: 0)))
        #expect(refusal("[]") == .notObject)
        #expect(refusal("{}") == .issuerMismatch)
        #expect(refusal(#"{"issuer":"https://idp.example.com"}"#) == .badKeySetURL)
        #expect(refusal(#"{"issuer":"https://idp.example.com","jwks_uri":null}"#) == .badKeySetURL)
        #expect(refusal(#"{"issuer":"a","issuer":"https://idp.example.com"}"#) == .notJSON(.duplicateName(offset: 14)))
    }

    @Test func httpIsForLoopbackInDevelopmentOnly() {
        #expect(ProviderURL("http://localhost:9000/x") == nil)
        for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
            #expect(ProviderURL("http://\(host):9000/x", allowsLoopbackHTTP: true) != nil)
        }
        for host in ["idp.example.com", "127.0.0.2", "0.0.0.0", "localhost.evil.example", "[::]", "127.1"] {
            #expect(ProviderURL("http://\(host):9000/x", allowsLoopbackHTTP: true) == nil)
        }
    }
}
