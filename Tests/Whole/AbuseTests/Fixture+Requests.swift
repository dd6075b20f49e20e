import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness

extension Fixture {
    /// A good id_token of a new login.
    func idToken(device: String = Unguessable.make()) throws -> IDToken { logins.login(device: device).token }

    /// The exchange of this token by the target.
    func form(_ token: IDToken, device: String, _ profile: NativeProfile = .deviceID) throws -> TokenForm {
        try logins.exchange(Login(token: token, device: device), profile)
    }

    /// A good exchange of a new login, except for the changes of `bend` to its id_token.
    func exchange(
        _ profile: NativeProfile = .deviceID, _ bend: (inout IDToken) throws -> Void = { _ in }
    ) throws -> TokenForm {
        var login = logins.login()
        try bend(&login.token)
        return try logins.exchange(login, profile)
    }

    /// The same at the issuer which offers the 2018 profile alone and brings its sessions in by itself.
    func exchangeAtOtherIssuer(_ bend: (inout IDToken) -> Void = { _ in }) throws -> TokenForm {
        var login = otherLogins.login()
        bend(&login.token)
        return try otherLogins.exchange(login)
    }

    /// A good assertion of the client that signs, for one request.
    func assertion() -> Assertion { Assertion(client: Self.signer, audience: Self.broker, key: keys.signer) }

    /// A good exchange of a new login by another client.
    func exchange(by client: String) throws -> TokenForm {
        var form = try exchange()
        form["client_id"] = client
        return form
    }

    /// A good proof for one request, by the key of the app that has one.
    func proof(by key: TestKey? = nil) -> TestProof {
        TestProof(by: key ?? keys.bound, for: Self.broker + "/token", at: now)
    }

    /// A key of somebody else.
    func otherKey() throws -> TestKey { try TestKey.shared(.ed25519) }

    /// Exchanges a fresh login.
    func family() async throws -> TokenFamily { try await logins.family(at: running) }

    /// A login that an exchange has brought into the registry.
    func login() async throws -> Login { try await family().login }
}
