import BrokerHarness
import Foundation
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Steps 0 to 8: app 1 logs in at the identity provider and shares the login.
extension WalkThrough {
    func logIn() async throws -> SharedLogin {
        let identifier = makeDeviceValue()
        let (attempt, code) = try await authenticate()
        if profile == .redeemed { return try await enrol(code, attempt) }
        let tokens = try await redeem(code, attempt, identifier)
        return profile == .enrolled ? try await enrol(tokens) : try await share(tokens, identifier)
    }

    private func makeDeviceValue() -> DeviceIdentifier? {
        if profile.isEnrolled {
            narrator.step(0, "app-one asks for no device secret: its identity provider would not know what that is")
            return nil
        }
        guard profile == .deviceID else {
            narrator.step(0, "app-one will ask for the scope device_sso: the identity provider makes the device secret")
            return nil
        }
        let identifier = DeviceIdentifier()
        narrator.step(0, "app-one makes a device identifier: \(Narrator.short(identifier.text))")
        return identifier
    }

    private func authenticate() async throws -> (LoginAttempt, Credential) {
        let provider = IdentityProvider(
            issuer: description.identityProvider, authorizationEndpoint: description.identityProvider + "/authorize",
            tokenEndpoint: description.identityProvider + "/token")
        let attempt = LoginAttempt(
            provider: provider, clientID: SampleApp.one.clientID, redirectURI: SampleApp.one.redirectURI,
            scope: profile.scope)
        narrator.step(1, "app-one starts a login: \(Narrator.short(attempt.verifier.text)) is its code_verifier")
        narrator.step(2, "the system browser opens the authorization request")
        let browser = UserAgent { [narrator] in narrator.visit($0) }
        let user = try DemonstrationUser(file: description.layout.users)
        guard case .page(let page) = try await browser.open(attempt.address()), page.status == 200 else {
            throw StepFailure("the identity provider shows no login page")
        }
        narrator.step(3, "the identity provider asks the user to log in")
        narrator.step(4, "\(user.name) fills in the form")
        let outcome = try await browser.submit(page, ["username": user.name, "password": user.password])
        guard case .app(let callback) = outcome else { throw StepFailure("the login did not lead back to the app") }
        narrator.step(5, "the browser is sent to \(Narrator.address(callback))")
        let code = try attempt.code(from: callback)
        narrator.step(6, "app-one gets the code \(Narrator.short(code.secret)); state and iss are its own")
        return (attempt, code)
    }

    private func redeem(
        _ code: Credential, _ attempt: LoginAttempt, _ identifier: DeviceIdentifier?
    ) async throws -> TokenSet {
        narrator.step(7, "app-one redeems the code\(identifier == nil ? "" : " and sends its device identifier")")
        let endpoint = TokenEndpoint(
            address: attempt.provider.tokenEndpoint, clientID: SampleApp.one.clientID,
            identification: profile.identification, transport: transport)
        return try await endpoint.redeem(code, of: attempt, device: identifier, at: Int64(time(nil)))
    }

    private func share(_ tokens: TokenSet, _ identifier: DeviceIdentifier?) async throws -> SharedLogin {
        guard let idToken = tokens.idToken, let claims = TokenClaims.read(idToken) else {
            throw StepFailure("there is no id_token")
        }
        narrator.step(8, "the id_token is bound to the device and to a session")
        try show(claims)
        let device: DeviceProof
        switch (profile, identifier, tokens.deviceSecret) {
        case (.deviceID, let identifier?, _): device = .identifier(identifier)
        case (.deviceSecret, _, let secret?): device = .secret(secret)
        case (.transitionalDeviceSecret, _, let secret?): device = .transitionalSecret(secret)
        default: throw StepFailure("there is no device_secret")
        }
        let login = SharedLogin(idToken: idToken, device: device)
        try await keep(login)
        return login
    }

    /// The identity provider's id_token names no device: app-one brings it to the broker, which gives it one that does.
    private func enrol(_ tokens: TokenSet) async throws -> SharedLogin {
        guard let idToken = tokens.idToken else { throw StepFailure("there is no id_token") }
        try expect(TokenClaims.read(idToken)?.contains(profile.hashClaim) == false, "the id_token names no device")
        narrator.step(8, "app-one enrols its login: the broker's id_token is bound to a device and to a session")
        let broker = TokenEndpoint(
            address: description.tokenEndpoint, clientID: SampleApp.one.clientID,
            identification: profile.identification, transport: transport)
        let login = try await broker.enrol(idToken, issuer: description.identityProvider)
        try await shareEnrolled(login)
        return login
    }

    /// The identity provider sees the broker only: app-one sends its code there instead.
    private func enrol(_ code: Credential, _ attempt: LoginAttempt) async throws -> SharedLogin {
        narrator.step(7, "app-one sends its code to the broker, which redeems it at the identity provider")
        let broker = TokenEndpoint(
            address: description.tokenEndpoint, clientID: SampleApp.one.clientID,
            identification: profile.identification, transport: transport)
        let (login, tokens) = try await broker.enrol(
            code, of: attempt, issuer: description.broker, at: Int64(time(nil)))
        try expect(tokens.refreshToken != nil, "app-one has the identity provider's own tokens too")
        narrator.step(8, "the broker's id_token is bound to a device and to a session")
        try await shareEnrolled(login)
        return login
    }

    private func shareEnrolled(_ login: SharedLogin) async throws {
        guard let claims = TokenClaims.read(login.idToken) else { throw StepFailure("the enrolled id_token is no JWT") }
        try show(claims)
        try expect(claims.string("iss") == description.broker, "the id_token is the broker's")
        try await keep(login)
    }

    private func show(_ claims: JSONObject) throws(StepFailure) {
        for name in ["iss", "sub", "aud", "sid", profile.hashClaim, "auth_time", "acr"] {
            guard let value = claims[name] else { throw StepFailure("the id_token has no \(name)") }
            narrator.note("\(name): \(Narrator.text(value))")
        }
    }

    private func keep(_ login: SharedLogin) async throws {
        try await login.save(to: device.shared)
        narrator.note("app-one writes both to the shared keychain: \(device.directory)")
    }
}

/// The first user of the identity provider's file.
private struct DemonstrationUser {
    let name: String
    let password: String

    init(file path: String) throws {
        let file = try JSONReader.parse(Array(try Data(contentsOf: URL(filePath: path)))).object
        guard let user = file?.array("users")?.first?.object, let name = user.string("username"),
            let password = user.string("password")
        else { throw StepFailure("\(path) names no user") }
        self.name = name
        self.password = password
    }
}
