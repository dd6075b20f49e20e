import DevelopmentIdP
import Testing

@Suite struct RedirectURITests {
    @Test(arguments: [
        "com.example.app:/callback", "https://app.example.com/cb", "http://127.0.0.1/cb", "http://127.0.0.1:8000/cb",
        "http://[::1]/cb", "http://127.0.0.1",
    ])
    func nativeAppsMayRegister(_ uri: String) {
        #expect(RedirectURI(uri) != nil)
    }

    @Test(arguments: [
        "http://example.com/cb", "http://localhost/cb", "http://127.0.0.1.example.com/cb", "http://127.0.0.1:99999/cb",
        "javascript:alert(1)", "myapp:/callback", "https://app.example.com/cb#x", "com.example.app:/c b", "/cb", "",
        "com.exämple:/cb", "http://127.0.0.1@example.com/",
    ])
    func nativeAppsMayNotRegister(_ uri: String) {
        #expect(RedirectURI(uri) == nil)
    }

    @Test func aSchemeWithoutADotNeedsTheSwitch() {
        #expect(RedirectURI("myapp://auth/callback", allowsUndottedScheme: true) != nil)
        for uri in ["javascript:alert(1)", "JavaScript:x", "data:text/html,x", "file:///etc", "http://example.com/cb"] {
            #expect(RedirectURI(uri, allowsUndottedScheme: true) == nil, "\(uri)")
        }
    }

    @Test func onlyThePortOfALoopbackRedirectIsFree() throws {
        let loopback = try #require(RedirectURI("http://127.0.0.1/cb"))
        #expect(loopback.allows("http://127.0.0.1:51004/cb"))
        #expect(loopback.allows("http://127.0.0.1/cb"))
        for other in [
            "http://127.0.0.1:51004/cb2", "http://127.0.0.1:51004/cb?x=1", "http://[::1]:51004/cb",
            "https://127.0.0.1:51004/cb", "http://127.0.0.1:51004x/cb", "http://127.0.0.1:/cb",
        ] {
            #expect(!loopback.allows(other), "\(other)")
        }
    }

    @Test(arguments: ["com.example.app:/callback/", "com.example.app:/Callback", "COM.example.app:/callback", ""])
    func everythingElseMatchesToTheOctet(_ requested: String) throws {
        let registered = try #require(RedirectURI("com.example.app:/callback"))
        #expect(registered.allows("com.example.app:/callback"))
        #expect(!registered.allows(requested))
    }
}
