import OAuthWire
import Testing

@Suite("What the form says about the client")
struct ClientParametersTests {
    private func read(_ form: String) throws -> ClientParameters {
        ClientParameters(try FormDecoder.decode(Array(form.utf8)))
    }

    @Test("Identifier, secret, assertion, each only where it has a value")
    func parameters() throws {
        let empty = try read("client_id=&client_secret=&client_assertion=&client_assertion_type=")
        #expect(empty.clientID == nil && empty.clientSecret == nil && empty.assertion == nil)
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        let full = try read("client_id=a&client_secret=s&client_assertion=j&client_assertion_type=\(type)")
        #expect(full.clientID == "a")
        #expect(full.clientSecret?.secret == "s")
        #expect(full.assertion?.type == .jwtBearer)
        #expect(full.assertion?.jwt?.secret == "j")
        #expect(!"\(full)".contains("\"s\""))
    }

    @Test("Half an assertion is still an attempt to authenticate")
    func incomplete() throws {
        #expect(try read("client_assertion=j").assertion?.type == nil)
        #expect(try read("client_assertion=j").assertion?.jwt != nil)
        #expect(try read("client_assertion_type=saml").assertion != nil)
    }
}
