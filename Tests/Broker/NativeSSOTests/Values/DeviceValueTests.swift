import NativeSSO
import Testing

@Suite struct DeviceValueTests {
    private func value(_ length: Int, _ profile: Profile) -> DeviceValue? {
        DeviceValue(String(repeating: "x", count: length), profile: profile)
    }

    @Test func aDeviceIDHas22To512Characters() {
        #expect(value(0, .deviceID) == nil)
        #expect(value(21, .deviceID) == nil)
        #expect(value(22, .deviceID) != nil)
        #expect(value(512, .deviceID) != nil)
        #expect(value(513, .deviceID) == nil)
    }

    @Test(arguments: [Profile.deviceSecret, .deviceSecretTransitional])
    func aDeviceSecretHas1To4096Characters(profile: Profile) {
        #expect(value(0, profile) == nil)
        #expect(value(1, profile) != nil)
        #expect(value(4096, profile) != nil)
        #expect(value(4097, profile) == nil)
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
        #expect(DeviceDigest(octets: [UInt8](repeating: 7, count: 32)) != nil)
        #expect(DeviceDigest(octets: [UInt8](repeating: 7, count: 31)) == nil)
        #expect(DeviceDigest(octets: [UInt8](repeating: 7, count: 33)) == nil)
        #expect(DeviceDigest(octets: []) == nil)
    }
}
