import NativeSSOClient
import OAuthWire
import Testing

@Suite struct SharedLoginTests {
    static let devices: [DeviceProof] = [
        .identifier(DeviceIdentifier()), .secret(Credential("s\"ecret")), .transitionalSecret(Credential("secret")),
    ]

    @Test(arguments: devices.indices)
    func whatOneAppSavesAnotherLoads(_ index: Int) async throws {
        let keychain = InMemoryKeychain()
        #expect(try await SharedLogin.load(from: keychain) == nil)
        try await SharedLogin(idToken: Credential("a.b.c"), device: Self.devices[index]).save(to: keychain)
        let loaded = try #require(try await SharedLogin.load(from: keychain))
        #expect(loaded.idToken.secret == "a.b.c")
        #expect(loaded.device.tokenType == Self.devices[index].tokenType)
    }

    @Test(arguments: [
        ("", KeychainItemDefect.corrupt), ("{}", .corrupt), ("\u{0}\u{1}", .corrupt),
        (#"{"id_token":"a","device":"S","device_type":"urn:openid:params:token-type:device-secret"}"#, .corrupt),
        (#"{"version":1,"id_token":"a","device":"S","device_type":"urn:openid:params:tok"#, .corrupt),
        (
            #"{"version":1,"id_token":"","device":"S","device_type":"urn:openid:params:token-type:device-secret"}"#,
            .corrupt
        ),
        (#"{"version":1,"id_token":"a","device":"S","device_type":"urn:ietf:params:oauth:token-type:jwt"}"#, .corrupt),
        (
            #"{"version":1,"id_token":"a","device":"short","device_type":"urn:x-oath:params:oauth:token-type:device-id"}"#,
            .corrupt
        ),
        (#"{"version":1.5}"#, .corrupt), (#"{"version":2}"#, .newerVersion),
        (#"{"version":9223372036854775807,"id_token":7}"#, .newerVersion),
    ])
    func anythingElseIsNamed(_ text: String, _ defect: KeychainItemDefect) async throws {
        let keychain = InMemoryKeychain()
        try await keychain.setItem(SharedLogin.item, Array(text.utf8))
        await #expect(throws: defect) { try await SharedLogin.load(from: keychain) }
    }

    @Test func aDeviceIdentifierIsRandomAndDoesNotPrint() {
        let device = DeviceIdentifier()
        #expect(device.text.utf8.count == 43)
        #expect(device.text != DeviceIdentifier().text)
        let login = SharedLogin(idToken: Credential("id-token"), device: .identifier(device))
        var dumped = ""
        dump(login, to: &dumped)
        let printed = "\(login) \(String(reflecting: login)) \(dumped)"
        #expect(!printed.contains(device.text))
        #expect(!printed.contains("id-token"))
    }
}
