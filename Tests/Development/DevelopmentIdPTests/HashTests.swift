import Crypto
import StrictCoding
import Testing

@testable import DevelopmentIdP

@Suite struct HashTests {
    @Test(arguments: [
        ("95twdf3w4y6wvftw35634t", "b2011aotZ8lT3eslukasAg"),
        ("3F2504E0-4F89-11D3-9A0C-0305E82C3301", "TOL9YTeEaDBY2Y2wRWzgjg"),
        ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "6oZqdX5MOLq_qBJ8vppAnQ"),
        ("exampleDeviceSecret", "5PuHaT28DJPEaOveu9ZCmg"),  // a fixture of Okta's Kotlin SDK
    ])
    func theLeftHalfOfSHA256IsInBase64URL(_ value: String, _ hash: String) {
        #expect(LeftHalfHash.ofSHA256(value) == hash)
    }

    @Test(arguments: [
        (DeviceSecretHash.leftHalf, "5PuHaT28DJPEaOveu9ZCmg"),
        (.fullSHA256, "5PuHaT28DJPEaOveu9ZCmpWRF0U8-uBnAKThwzrVYVU"),
        (.fullSHA256Hex, "e4fb87693dbc0c93c468ebdebbd6429a959117453cfae06700a4e1c33ad56155"),
    ])
    func aDeviceSecretIsHashedAsConfigured(_ mode: DeviceSecretHash, _ hash: String) {
        #expect(mode.hash("exampleDeviceSecret") == hash)
    }

    @Test func aDeviceIdentifierHas22To512PrintableCharacters() {
        #expect(DeviceIdentifier(String(repeating: "a", count: 22)) != nil)
        #expect(DeviceIdentifier(String(repeating: "~ ", count: 256)) != nil)
        #expect(DeviceIdentifier(String(repeating: "a", count: 21)) == nil)
        #expect(DeviceIdentifier(String(repeating: "a", count: 513)) == nil)
        #expect(DeviceIdentifier(String(repeating: "ä", count: 22)) == nil)
        #expect(DeviceIdentifier(String(repeating: "a", count: 22) + "\n") == nil)
    }

    // RFC 7636 App. B.
    @Test func aChallengeIsMetByItsVerifierOnly() throws {
        let challenge = try #require(CodeChallenge(TestProvider.challenge))
        #expect(challenge.isMet(by: TestProvider.verifier))
        #expect(!challenge.isMet(by: TestProvider.verifier + "A"))
        #expect(!challenge.isMet(by: TestProvider.challenge))
        #expect(!challenge.isMet(by: ""))
    }

    @Test func aVerifierHas43To128UnreservedCharacters() throws {
        for (verifier, isMet) in [
            (String(repeating: "~", count: 43), true), (String(repeating: "~", count: 42), false),
            (String(repeating: "~", count: 128), true), (String(repeating: "~", count: 129), false),
            (String(repeating: "+", count: 43), false),
        ] {
            let challenge = try #require(CodeChallenge(Self.challenge(of: verifier)))
            #expect(challenge.isMet(by: verifier) == isMet, "\(verifier.utf8.count) × \(verifier.prefix(1))")
        }
    }

    @Test(arguments: ["", "short", TestProvider.challenge + "=", TestProvider.challenge + "AA"])
    func aChallengeIsADigest(_ text: String) {
        #expect(CodeChallenge(text) == nil)
    }

    private static func challenge(of verifier: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
    }
}
