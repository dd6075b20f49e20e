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

    /// A new login of the same user.
    func login(ofUserOf login: Login) -> Login {
        var other = logins.login()
        other.token.claims["sub"] = login.token.claims["sub"]
        return other
    }

    /// Exchanges a fresh login.
    func family() async throws -> TokenFamily { try await logins.family(at: running) }

    /// A login whose first exchange has created the session.
    func login() async throws -> Login { try await family().login }
}

extension Fixture {
    /// A good security event about the user of a login.
    func event(_ type: String, of login: Login) -> LogoutToken { logins.event(type, of: login, audience: Self.broker) }

    /// A good JWT for one revocation.
    func revocation() -> LogoutToken { logins.revocation(audience: Self.broker) }

    func send(event token: String) async throws -> HTTPAnswer {
        try await HTTPRequest.securityEvent(token).send(to: backchannel.port)
    }

    func send(revocation token: String, about login: Login) async throws -> HTTPAnswer {
        let subject = String(decoding: logins.subject(of: login).octets, as: UTF8.self)
        return try await send(revocation: token, #"{"sub_id":\#(subject)}"#)
    }

    func send(revocation token: String, _ body: String) async throws -> HTTPAnswer {
        try await HTTPRequest.globalTokenRevocation(token, Array(body.utf8)).send(to: backchannel.port)
    }
}
