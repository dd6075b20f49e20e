import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness

extension Fixture {
    /// A good id_token of a new login.
    func idToken(device: String = Unguessable.make()) throws -> IDToken { logins.login(device: device).token }

    /// The target client's exchange of this token.
    func form(_ token: IDToken, device: String, _ profile: NativeProfile = .deviceID) throws -> TokenForm {
        try logins.exchange(Login(token: token, device: device), profile)
    }

    /// A good exchange of a new login, except for the changes of `bend` to its id_token.
    /// Its `token`, which the token endpoint ignores, makes it a good request to every other ``Endpoint`` as well.
    func exchange(
        _ profile: NativeProfile = .deviceID, _ bend: (inout IDToken) throws -> Void = { _ in }
    ) throws -> TokenForm {
        var login = logins.login()
        try bend(&login.token)
        var form = try logins.exchange(login, profile)
        form["token"] = "x"
        return form
    }

    /// The same at the issuer that offers only the 2018 profile and has no first sight.
    func exchangeAtOtherIssuer(_ bend: (inout IDToken) -> Void = { _ in }) throws -> TokenForm {
        var login = otherLogins.login()
        bend(&login.token)
        return try otherLogins.exchange(login)
    }

    /// A good assertion of the signing client, for one request.
    func assertion() -> Assertion { Assertion(client: Self.signer, audience: Self.broker, key: keys.signer) }

    /// A good exchange of a new login by another client.
    func exchange(by client: String) throws -> TokenForm {
        var form = try exchange()
        form["client_id"] = client
        return form
    }

    /// A good proof for one request, by default with the key of the bound app.
    func proof(by key: TestKey? = nil) -> TestProof {
        TestProof(by: key ?? keys.bound, for: Self.broker + "/token", at: now)
    }

    /// A key other than the bound app's.
    func otherKey() throws -> TestKey { try TestKey.shared(.ed25519) }

    /// Exchanges a fresh login.
    func family() async throws -> TokenFamily { try await logins.family(at: running) }

    /// A login whose first exchange has created the session.
    func login() async throws -> Login { try await family().login }
}
