import NativeSSO
import StrictCoding
import Testing

struct ClientSecretTests {
    @Test func `a secret is 256 bits, and another one each time`() {
        var randomness = SystemRandomNumberGenerator()
        let secrets = (0..<100).map { _ in ClientSecret(using: &randomness).secret }
        #expect(Set(secrets).count == 100)
        #expect(secrets.allSatisfy { Base64URL.decode($0)?.count == 32 })
    }

    @Test func `it is not printed`() {
        var randomness = SystemRandomNumberGenerator()
        let secret = ClientSecret(using: &randomness)
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!"\(secret) \(dumped)".contains(secret.secret))
    }

    @Test func `the digest is SHA-256, and its label the first digits of it`() {
        let digest = ClientSecretDigest(of: "abc")  // FIPS 180-2 App. B.1
        #expect(
            Hexadecimal.encode(digest.octets) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(digest.label == "ba7816bf")
        #expect(digest.matches(ClientSecretDigest(of: "abc")))
        #expect(!digest.matches(ClientSecretDigest(of: "abd")))
        #expect(ClientSecretDigest(octets: digest.octets) == digest)
        #expect(ClientSecretDigest(octets: Array(digest.octets.dropLast())) == nil)
    }

    @Test func `an assertion is named by its client and its jti, and by nothing less`() {
        func id(_ client: String, _ jti: String) -> AssertionID {
            AssertionID(client: ClientID(validated: client), jti: jti)
        }
        #expect(id("a", "bc") == id("a", "bc"))
        #expect(id("a", "bc") != id("ab", "c"))
        #expect(id("a", "b") != id("a", "B"))
    }
}
