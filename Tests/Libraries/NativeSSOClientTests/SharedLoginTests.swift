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
        try await SharedLogin(idToken: Credential("a.b.c"), device: Self.devices[index]).save(to: keychain)
        let loaded = try #require(try await SharedLogin.load(from: keychain))
        #expect(loaded.idToken.secret == "a.b.c")
        #expect(loaded.device.tokenType == Self.devices[index].tokenType)
    }

    @Test(arguments: [
        "", "{}", #"{"id_token":"a","device":"short","device_type":"urn:x-oath:params:oauth:token-type:device-id"}"#,
    ])
    func anythingElseIsNoLogin(_ text: String) async throws {
        let keychain = InMemoryKeychain()
        await keychain.setItem(SharedLogin.item, Array(text.utf8))
        #expect(try await SharedLogin.load(from: keychain) == nil)
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
