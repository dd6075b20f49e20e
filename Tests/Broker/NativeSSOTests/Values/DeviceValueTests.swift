import NativeSSO
import Testing

@Suite struct DeviceValueTests {
    /// A device id has 22 to 512 characters, a device secret 1 to 4096.
    @Test(arguments: Profile.allCases) func lengthIsBounded(profile: Profile) {
        let (shortest, longest) = profile == .deviceID ? (22, 512) : (1, 4096)
        for (length, isGood) in [(shortest - 1, false), (shortest, true), (longest, true), (longest + 1, false)] {
            #expect((DeviceValue(String(repeating: "x", count: length), profile: profile) != nil) == isGood)
        }
    }

    @Test(arguments: Profile.allCases)
    func onlyPrintableASCII(profile: Profile) {
        let good = "95twdf3w4y6wvftw35634t"
        #expect(DeviceValue(good, profile: profile)?.octets == Array(good.utf8))
        #expect(DeviceValue("abc def ghi jkl mno pqr~", profile: profile) != nil)
        for bad in ["\n", "\r\n", "\u{0}", "\u{1F}", "\u{7F}", "\u{E9}", "e\u{301}", "\u{2014}"] {
            #expect(DeviceValue(good + bad, profile: profile) == nil)
            #expect(DeviceValue(bad + good, profile: profile) == nil)
        }
    }

    @Test func aDigestHas32Octets() {
        for count in [0, 31, 32, 33] {
            #expect((DeviceDigest(octets: [UInt8](repeating: 7, count: count)) != nil) == (count == 32))
        }
    }
}
