import BrokerTesting
import StrictCoding
import Testing

@testable import NativeSSO

@Suite struct RefreshTokenTests {
    private let keys = SoftwareMACKeys()
    private let token = RefreshToken(
        grantID: UniqueID(high: 0x0198_C0FF_EE00_7000, low: 0x8000_0000_0000_0001), generation: 258)
    /// Made with another implementation of HMAC: `nsr1.` and base64url of 01, the grant id, 00000102 and the tag. The
    /// key is 32 octets 01.
    private let golden = "nsr1.AQGYwP_uAHAAgAAAAAAAAAEAAAECcJxUe-Gv3_Blq52Slsmb9p8d3eaHRk3uOx_pmN0fx2s"
    private let goldenOfKey2 = "nsr1.AgGYwP_uAHAAgAAAAAAAAAEAAAECuAcHQKIzrSyK4UqzN5aC00GBO7nRTEYw6zI20470eSM"
    private let lastOfAll = "nsr1.AQGYwP_uAHAAgAAAAAAAAAF_____skikuGXoQXqfv1i53czeeQitTkPXq6MvN2k8UHDoU00"

    @Test func everyOctetIsFixed() async throws {
        #expect(try await token.encoded(by: keys).value == golden)
        #expect(try await RefreshToken.decode(golden, by: keys) == token)
        #expect(golden.utf8.count == RefreshToken.length)
        let last = RefreshToken(grantID: token.grantID, generation: .max)
        #expect(try await last.encoded(by: keys).value == lastOfAll)
        #expect(try await RefreshToken.decode(lastOfAll, by: keys) == last)
    }

    @Test func anOlderKeyStillReads() async throws {
        keys.use(keyID: 2)
        #expect(try await token.encoded(by: keys).value == goldenOfKey2)
        #expect(try await RefreshToken.decode(golden, by: keys) == token)
        #expect(try await RefreshToken.decode(goldenOfKey2, by: keys) == token)
        keys.remove(keyID: 1)
        #expect(try await RefreshToken.decode(golden, by: keys) == nil)
    }

    /// Flips every bit, in the text and in the decoded octets.
    @Test func everyFlippedBitIsRefused() async throws {
        let text = Array(golden.utf8)
        for index in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[index] ^= 1 << UInt8(bit)
                #expect(try await RefreshToken.decode(String(decoding: changed, as: UTF8.self), by: keys) == nil)
            }
        }
        let octets = try #require(Base64URL.decode(text.dropFirst(5)))
        for index in octets.indices {
            for bit in 0..<8 {
                var changed = octets
                changed[index] ^= 1 << UInt8(bit)
                #expect(try await RefreshToken.decode("nsr1." + Base64URL.encode(changed), by: keys) == nil)
            }
        }
    }

    @Test func everyTruncationAndExtensionIsRefused() async throws {
        for length in 0..<golden.count {
            #expect(try await RefreshToken.decode(String(golden.prefix(length)), by: keys) == nil)
            #expect(try await RefreshToken.decode(String(golden.suffix(length)), by: keys) == nil)
        }
        for more in ["A", "=", "==", "\n", "\r\n", " ", "\u{0}", "\u{301}"] {
            #expect(try await RefreshToken.decode(golden + more, by: keys) == nil)
            #expect(try await RefreshToken.decode(more + golden, by: keys) == nil)
        }
    }

    @Test func otherFormsOfTheSameTokenAreRefused() async throws {
        let body = String(golden.dropFirst(5))
        let start = String(golden.dropLast())
        let others: [String] = [
            // Another prefix of the same length, with and without what it authenticates.
            "nsr2." + body, "NSR1." + body, "nsr1_" + body, "....." + body,
            // The standard alphabet.
            golden.replacing("_", with: "/").replacing("-", with: "+"),
            // The last character carries two bits that no octet needs.
            start + "t", start + "u", start + "v",
            // The right length, but not in octets, or only in octets.
            start + "é", start.dropLast() + "é",
        ]
        for other in others where !other.utf8.elementsEqual(golden.utf8) {
            #expect(try await RefreshToken.decode(other, by: keys) == nil)
        }
        #expect(others.count == 10)
    }

    /// A tag that is right for another key id, or for the body without the prefix, is wrong here.
    @Test func theTagCoversPrefixAndKeyID() async throws {
        let octets = try #require(Base64URL.decode(golden.utf8.dropFirst(5)))
        let body = Array(octets[..<21])
        let withoutPrefix = try #require(try await keys.tag(body, keyID: 1))
        #expect(try await RefreshToken.decode("nsr1." + Base64URL.encode(body + withoutPrefix), by: keys) == nil)
        let underKey2 = try #require(try await keys.tag(Array("nsr1.".utf8) + body, keyID: 2))
        #expect(try await RefreshToken.decode("nsr1." + Base64URL.encode(body + underKey2), by: keys) == nil)
    }

    @Test func unknownKeysAreRefused() async throws {
        let octets = try #require(Base64URL.decode(golden.utf8.dropFirst(5)))
        for keyID in [0, 3, 255] as [UInt8] {
            #expect(
                try await RefreshToken.decode("nsr1." + Base64URL.encode([keyID] + octets.dropFirst()), by: keys) == nil
            )
        }
    }

    @Test func aMissingCurrentKeyIsADefect() async {
        keys.use(keyID: 9)
        await #expect {
            try await token.encoded(by: keys).value
        } throws: { error in
            if case PortError.broken = error { true } else { false }
        }
    }

    @Test func keysThatAreAwayAreAnOutage() async {
        keys.fail(with: .outage(Outage(.keyModule, "away")))
        await #expect(throws: PortError.self) { try await token.encoded(by: keys).value }
        await #expect {
            try await RefreshToken.decode(golden, by: keys)
        } throws: { error in
            if case PortError.outage = error { true } else { false }
        }
    }
}
