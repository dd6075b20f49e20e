import BrokerHarness
import DevelopmentIdP
import Foundation
import JOSE
import NativeSSOClient
import OAuthWire
import StrictCoding
import Synchronization
import TokenVerifier

/// One walk through every scenario, over HTTP, with real processes, in one way to share a login.
actor ScenarioRun {
    let description: EnvironmentDescription
    let profile: DemonstratedProfile
    let device: Device
    nonisolated let narrator: Narrator
    /// Requests to token endpoints so far.
    private let tokenRequests = Mutex(0)
    /// Whether an app has sent a user's password to a token endpoint.
    let passwordWasSent = Atomic(false)
    /// The logins that the scenarios build on, by the app.
    private var logins: [String: Login] = [:]
    let users: UserDirectory

    private nonisolated let observe: @Sendable (Exchange) throws -> Void

    /// - Parameters:
    ///   - directory: Of the device, below the others' directory.
    ///   - observe: Sees every request of the apps; see ``ClientTransport/observe``.
    init(
        description: EnvironmentDescription, profile: DemonstratedProfile, directory: String? = nil,
        write: @escaping @Sendable (String) -> Void, observe: @escaping @Sendable (Exchange) throws -> Void = { _ in }
    ) throws {
        self.description = description
        self.profile = profile
        self.observe = observe
        device = try Device(directory: "\(description.layout.device)/\(directory ?? "\(profile)")")
        narrator = Narrator(write: write)
        users = try UserDirectory(file: description.layout.users)
    }

    /// An app with the tokens of its login.
    struct Login: Sendable {
        let app: SampleApp
        let attempt: LoginAttempt
        /// Has the cookie of the session.
        let browser: UserAgent
        /// The identity provider's.
        let tokens: TokenSet
        let shared: SharedLogin
    }

    // MARK: Who is who

    /// Of the identity provider of this walk.
    nonisolated var issuer: String { profile.isEnrolled ? description.plainProvider : description.identityProvider }
    /// Of the id_token that the apps share.
    nonisolated var sharedIssuer: String { profile.isEnrolled ? description.broker : description.identityProvider }

    nonisolated var provider: IdentityProvider {
        IdentityProvider(
            issuer: issuer, authorizationEndpoint: issuer + "/authorize", tokenEndpoint: issuer + "/token")
    }

    /// Sends to any token endpoint, and tells of it.
    nonisolated func transport(of app: SampleApp) -> any HTTPTransport {
        ClientTransport(
            watch: { [self] request, response in
                tokenRequests.withLock { $0 += 1 }
                let body = String(decoding: request.body, as: UTF8.self)
                if users.users.contains(where: { body.contains($0.password) }) {
                    passwordWasSent.store(true, ordering: .relaxed)
                }
                narrator.tokenRequest(request, response)
            }, from: app.clientID, observe: observe)
    }

    nonisolated var tokenRequestCount: Int { tokenRequests.withLock { $0 } }

    nonisolated func endpoint(of app: SampleApp, atBroker: Bool) -> TokenEndpoint {
        TokenEndpoint(
            address: atBroker ? description.tokenEndpoint : provider.tokenEndpoint, clientID: app.clientID,
            identification: profile.identification, transport: transport(of: app))
    }

    /// Starts the app. Its memory is empty; its keychain holds what an earlier start left there.
    func start(_ app: SampleApp) throws -> AppTokens {
        AppTokens(
            endpoint: endpoint(of: app, atBroker: true), issuer: sharedIssuer, shared: device.shared,
            own: try device.keychain(of: app),
            now: { [device] in Int64(time(nil)) + device.clockAhead.load(ordering: .relaxed) })
    }

    nonisolated func now() -> Int64 { Int64(time(nil)) }

    // MARK: Logins

    /// What every login of the documents asks for, and what this walk needs beside it.
    nonisolated var scope: String {
        "openid profile email offline_access \(SampleAPI.a.scope) \(SampleAPI.b.scope)" + profile.extraScope
    }

    func login(of app: SampleApp) throws -> Login {
        guard let login = logins[app.clientID] else { throw StepFailure("\(app.clientID) is not logged in") }
        return login
    }

    func keep(_ login: Login) { logins[login.app.clientID] = login }

    func attempt(for app: SampleApp, scope: String? = nil) -> LoginAttempt {
        LoginAttempt(
            provider: provider, clientID: app.clientID, redirectURI: app.redirectURI, scope: scope ?? self.scope)
    }

    /// A whole login, without a word about it.
    ///
    /// - Parameter expired: What of its tokens has expired already: `access_token`, `refresh_token`.
    func logIn(
        _ app: SampleApp, as user: String = "alice", scope: String? = nil, browser: UserAgent = UserAgent(),
        expired: String? = nil
    ) async throws -> Login {
        let attempt = attempt(for: app, scope: scope)
        let page = try await form(of: attempt, in: browser, prompt: "login", expired: expired)
        return try await finish(app, attempt, try await fillIn(page, as: user, in: browser), browser)
    }

    /// The page that an authorization request leads to.
    func form(
        of attempt: LoginAttempt, in browser: UserAgent, prompt: String? = nil, contextClasses: [String] = [],
        expired: String? = nil
    ) async throws -> UserAgent.Page {
        var address = attempt.address(prompt: prompt, contextClasses: contextClasses)
        if let expired { address += "&issue_expired=" + expired.replacing(" ", with: "+") }
        guard case .page(let page) = try await browser.open(address), page.status == 200 else {
            throw StepFailure("the identity provider shows no page")
        }
        return page
    }

    /// The user fills in the login form; the address that the app receives.
    func fillIn(_ page: UserAgent.Page, as name: String = "alice", in browser: UserAgent) async throws -> String {
        let user = try user(name)
        return try callback(
            of: try await browser.submit(page, ["username": user.username, "password": user.password]))
    }

    func user(_ name: String) throws -> User {
        guard let user = users.users.first(where: { $0.username == name }) else {
            throw StepFailure("\(description.layout.users) names no \(name)")
        }
        return user
    }

    /// The address that the app receives.
    func callback(of outcome: UserAgent.Outcome) throws -> String {
        guard case .app(let callback) = outcome else { throw StepFailure("the browser does not lead back to the app") }
        return callback
    }

    /// The app takes its code where this walk takes it.
    func finish(
        _ app: SampleApp, _ attempt: LoginAttempt, _ callback: String, _ browser: UserAgent
    ) async throws -> Login {
        let code = try attempt.code(from: callback)
        let (tokens, shared) = try await redeem(code, of: attempt, for: app)
        return Login(app: app, attempt: attempt, browser: browser, tokens: tokens, shared: shared)
    }

    private func redeem(
        _ code: Credential, of attempt: LoginAttempt, for app: SampleApp
    ) async throws -> (TokenSet, SharedLogin) {
        if profile == .redeemed {
            let (shared, tokens) = try await endpoint(of: app, atBroker: true).enrol(
                code, of: attempt, issuer: description.broker, at: now())
            return (tokens, shared)
        }
        let identifier = profile == .deviceID ? DeviceIdentifier() : nil
        let tokens = try await endpoint(of: app, atBroker: false).redeem(
            code, of: attempt, device: identifier, at: now())
        guard let idToken = tokens.idToken else { throw StepFailure("there is no id_token") }
        switch (profile, identifier, tokens.deviceSecret) {
        case (.deviceID, let identifier?, _):
            return (tokens, SharedLogin(idToken: idToken, device: .identifier(identifier)))
        case (.deviceSecret, _, let secret?): return (tokens, SharedLogin(idToken: idToken, device: .secret(secret)))
        case (.transitionalDeviceSecret, _, let secret?):
            return (tokens, SharedLogin(idToken: idToken, device: .transitionalSecret(secret)))
        case (.enrolled, _, _):
            return (tokens, try await endpoint(of: app, atBroker: true).enrol(idToken, issuer: issuer))
        default: throw StepFailure("there is no device_secret")
        }
    }

    // MARK: Requests

    /// Asks an API, and expects a status.
    /// - Returns: The body of the answer, if it is a JSON object.
    @discardableResult
    nonisolated func call(
        _ api: SampleAPI, with token: Credential?, by app: SampleApp, expecting status: Int = 200
    ) async throws -> JSONObject? {
        let answer = try await ask(api, with: token, by: app)
        try expect(answer.status == status, "\(api.path) answers \(status), not \(answer.status)")
        return (try? JSONReader.parse(Array(answer.body.utf8)))?.object
    }

    /// Asks both APIs, which take the token.
    ///
    /// A function, because the release compiler of Swift 6.3.1 crashes on this loop inside another loop that waits.
    func callServers(with token: Credential, by app: SampleApp) async throws {
        for api in SampleAPI.all { try await call(api, with: token, by: app) }
    }

    /// Asks an API, and tells of it.
    nonisolated func ask(
        _ api: SampleAPI, with token: Credential?, by app: SampleApp
    ) async throws -> (status: Int, body: String) {
        let server = api.audience == SampleAPI.a.audience ? description.serverA : description.serverB
        let answer = try await PlainHTTP.get(server + api.path, with: token, from: app.clientID, observe: observe)
        let credentials = token.map { " Bearer \(Narrator.short($0.secret))" } ?? ""
        narrator.note("\(app.clientID): GET \(server)\(api.path)\(credentials) ← \(answer.status) \(answer.body)")
        return answer
    }

    /// The claims of a token, once its signature is found to be its issuer's.
    nonisolated func verifiedClaims(_ token: Credential, type: String? = nil) async throws -> JSONObject {
        let issuer = TokenClaims.read(token)?.string("iss")
        let keys = issuer == description.broker ? description.brokerInternal : self.issuer
        guard let loader = HTTPKeySetLoader(keys + "/.well-known/jwks.json") else { throw StepFailure("no key set") }
        let set = try JSONWebKeySet(document: try await loader.load().octets)
        let jws = try CompactJWS(token.secret)
        // The broker signs with ES256.
        let algorithm: SignatureAlgorithm = issuer == description.broker ? .es256 : .rs256
        if let type { try expect(jws.header.hasType(type), "typ is \(type)") }
        return try jws.verified(by: set, allowing: [algorithm]).claims
    }

    /// Tells claims, which must be there.
    nonisolated func show(_ names: [String], of claims: JSONObject, in token: String) throws {
        for name in names {
            guard let value = claims[name] else { throw StepFailure("the \(token) has no \(name)") }
            narrator.note("\(name): \(Narrator.text(value))")
        }
    }

    /// The refusal that `work` ends in.
    func expectRefusal<Value: Sendable>(
        _ code: OAuthErrorCode, _ work: () async throws(ClientError) -> Value
    ) async throws {
        let expectation = "it is refused with \(code.rawValue)"
        do throws(ClientError) {
            _ = try await work()
        } catch {
            guard case .refused(let refusal) = error else { throw StepFailure("\(expectation), not: \(error)") }
            try expect(refusal.code == code, "\(expectation), not \(refusal.error)")
            return try await tell(refusal.status, refusal.error, refusal.requestID)
        }
        throw StepFailure("\(expectation), but it was not refused")
    }

    /// Tells of an expected refusal, with what the broker's operator would read about it.
    func tell(_ status: Int, _ error: String, _ requestID: String?) async throws {
        narrator.note("refused as it should be: \(status) \(error)")
        if let requestID, let reason = try await description.explanation(of: requestID) {
            narrator.note("explain: \(reason)")
        }
    }

    nonisolated func expectCallback(_ expected: CallbackError, _ callback: String, of attempt: LoginAttempt) throws {
        do throws(CallbackError) {
            _ = try attempt.code(from: callback)
        } catch {
            narrator.note("the app gives up: \(error)")
            return try expect(error == expected, "\(expected), not \(error)")
        }
        throw StepFailure("the app does not take \(Narrator.address(callback))")
    }
}
