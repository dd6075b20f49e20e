import OAuthWire
import StrictCoding
import Testing

@Suite("HTTP Basic, RFC 7617, with the encoding of RFC 6749 §2.3.1")
struct BasicCredentialsTests {
    private func read(_ userpass: String) -> AuthorizationHeader {
        AuthorizationHeader("Basic " + Base64.encode(Array(userpass.utf8)))
    }

    private func basic(_ header: AuthorizationHeader) -> BasicCredentials? {
        guard case .basic(let credentials) = header else { return nil }
        return credentials
    }

    @Test("The value on the slide of the 2018 profile names a client and no secret")
    func slide() throws {
        let credentials = try #require(basic(AuthorizationHeader("Basic ZGZhZGYyMzUyNDU0Og==")))
        #expect(credentials.clientID == "dfadf2352454")
        #expect(credentials.clientSecret == nil)
    }

    @Test("The first colon separates, both parts are decoded once, and the scheme ignores case")
    func decoding() throws {
        let first = try #require(basic(read("app:s:t")))
        #expect(first.clientID == "app")
        #expect(first.clientSecret?.secret == "s:t")
        let second = try #require(basic(read("a%3Ab%2B+%2541:p%26")))
        #expect(second.clientID == "a:b+ %41")
        #expect(second.clientSecret?.secret == "p&")
        #expect(basic(AuthorizationHeader("bAsIc  " + Base64.encode(Array("a:".utf8))))?.clientID == "a")
    }

    @Test(
        "Malformed Basic credentials are refused",
        arguments: [
            "Basic", "Basic ", "Basic ZGZhZGY", "Basic ZGZhZGYyMzUyNDU0", "Basic ZGZhZGYyMzUyNDU0Og=", "Basic Og==",
            "Basic !!!!", "Basic YTpi YTpi", "Basic YTpi\t", "Basic YTpj=", "Basic YTr=",
            "Basic " + Base64.encode(Array("a%zz:".utf8)), "Basic " + Base64.encode(Array("a:%ff".utf8)),
            "Basic " + Base64.encode(Array("a%00:".utf8)), "Basic " + Base64.encode([0xFF, 0x3A]), "Basic\tYTpi",
        ])
    func malformed(header: String) {
        if case .basic = AuthorizationHeader(header) { Issue.record("accepted \(header)") }
    }

    @Test("Other schemes are not Basic", arguments: ["Bearer x", "DPoP x", "", "Basicx YTpi", "Negotiate"])
    func otherSchemes(header: String) {
        guard case .otherScheme = AuthorizationHeader(header) else {
            Issue.record("not another scheme: \(header)")
            return
        }
    }

    @Test("Written credentials can be read, and never print the secret")
    func roundTrip() throws {
        let written = BasicCredentials(clientID: "a:b e", clientSecret: Credential("s %+:"))
        let read = try #require(basic(AuthorizationHeader(written.headerValue)))
        #expect(read.clientID == "a:b e")
        #expect(read.clientSecret?.secret == "s %+:")
        #expect(!"\(read)".contains("s %"))
    }
}
