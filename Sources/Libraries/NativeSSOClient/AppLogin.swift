public import OAuthWire
public import StrictCoding

/// One app of a vendor on one device: it logs its user in, or uses the login that another app of the vendor shared.
///
/// Create one for the life of the app. It loads discovery documents and keys when it needs them, so it works after a start
/// without a network.
public actor AppLogin {
    /// What an app must know. Addresses come from the discovery documents of both issuers.
    public struct Configuration: Sendable {
        /// The broker's issuer.
        public var broker: String
        /// The IdP's issuer.
        public var provider: String
        /// The app's `client_id` at the broker.
        public var clientID: String
        /// The app's `client_id` at the IdP; by default the same. With `.codeEnrolment` it must be the same, because the
        /// broker redeems the code as `clientID`.
        public var providerClientID: String
        /// The app's `redirect_uri` at the IdP.
        public var redirectURI: String
        /// The scopes of the login. ``AppLogin`` adds `openid`, and for a device secret `device_sso`.
        public var loginScope: String
        /// The scopes of exchanges; nil: the client's default.
        public var scope: String?
        /// How a login becomes one that other apps can use.
        public var sharing: Sharing
        /// The profile of device value.
        public var profile: Profile

        /// The current profile, with an IdP that knows Native SSO.
        public init(broker: String, provider: String, clientID: String, redirectURI: String) {
            self.broker = broker
            self.provider = provider
            self.clientID = clientID
            providerClientID = clientID
            self.redirectURI = redirectURI
            loginScope = "openid"
            sharing = .provider
            profile = .deviceSecret
        }

        /// The issuer of the id_token that the apps share.
        var loginIssuer: String { sharing == .provider ? provider : broker }
    }

    /// How a login becomes one that other apps can use.
    public enum Sharing: Sendable {
        /// The IdP knows Native SSO: its id_token names the device.
        case provider
        /// The app brings the IdP's id_token to the broker.
        case enrolment
        /// The app brings its code to the broker, which redeems it at the IdP.
        case codeEnrolment
    }

    /// The kind of device value.
    public enum Profile: Sendable {
        /// `device_secret`, made by the IdP or the broker: the current profile.
        case deviceSecret
        /// `device_secret` with the token type of drafts 02 to 06.
        case transitionalDeviceSecret
        /// `device_id`, made by the app: the text of 2018.
        case deviceID
    }

    /// A login that this app did itself.
    public struct Outcome: Sendable {
        /// The claims of the id_token. Its signature is checked.
        public let claims: IDTokenClaims
        /// The IdP's tokens, for the IdP's own APIs.
        public let tokens: TokenSet
    }

    /// Opens a URL in the system browser, and returns the URL of the callback. It must end if its task is cancelled.
    public typealias Browser = @Sendable (_ address: String) async throws -> String

    /// The app's configuration.
    public nonisolated let configuration: Configuration
    nonisolated let transport: any HTTPTransport
    nonisolated let shared: any Keychain
    private let own: any Keychain
    private let prover: DPoPProver?
    nonisolated let now: @Sendable () -> Int64
    private var loadedMetadata: [String: ServerMetadata] = [:]
    private var loadedKeys: [String: IssuerKeys] = [:]
    private var loadedTokens: AppTokens?
    /// Of the APIs that ``send(_:)`` calls, by origin.
    private var loadedProofs: [String: ServerProofs] = [:]
    /// The login that ``send(_:loggingInWith:)`` has started by itself, until a request that began after it has succeeded.
    var ownLogin: OwnLogin?

    struct OwnLogin {
        let task: Task<Result<Void, ClientError>, Never>
        var isOver = false
    }

    /// - Parameters:
    ///   - configuration: What the app must know.
    ///   - shared: The vendor's keychain group, with the login.
    ///   - own: The app's own keychain group, for its refresh token.
    ///   - transport: Sends the requests.
    ///   - prover: Proves possession of the app's key (RFC 9449); nil: tokens are not bound.
    ///   - now: The current time in seconds since 1970; default: the system clock.
    public init(
        _ configuration: Configuration, shared: any Keychain, own: any Keychain, transport: any HTTPTransport,
        prover: DPoPProver? = nil, now: (@Sendable () -> Int64)? = nil
    ) {
        self.configuration = configuration
        self.shared = shared
        self.own = own
        self.transport = transport
        self.prover = prover
        self.now = now ?? systemTime
    }

    // MARK: Tokens

    /// A valid access token for the app's APIs: stored, refreshed, or exchanged for the shared login.
    ///
    /// - Throws: ``ClientError``. ``ClientError/remedy(after:)`` for `.exchange` tells what to do.
    public func accessToken() async throws(ClientError) -> Credential { try await tokens().accessToken() }

    /// Exchanges the shared login for tokens of this app, also after ``signOut(_:)``. RFC 8693.
    ///
    /// - Throws: ``ClientError``, as ``accessToken()`` does.
    @discardableResult
    public func exchange() async throws(ClientError) -> Credential { try await tokens().exchange() }

    /// The app's tokens at the broker.
    ///
    /// - Throws: ``ClientError``, if the broker's discovery document is needed and cannot be loaded.
    public func tokens() async throws(ClientError) -> AppTokens {
        if let loadedTokens { return loadedTokens }
        let endpoint = try await brokerEndpoint(prover: prover)
        // Another caller may have been quicker: two would refresh at once.
        if let loadedTokens { return loadedTokens }
        let tokens = AppTokens(
            endpoint: endpoint, issuer: configuration.loginIssuer, scope: configuration.scope, shared: shared, own: own,
            now: now)
        loadedTokens = tokens
        return tokens
    }

    // MARK: Login

    /// Logs the user in in the browser, and shares the login with the vendor's other apps.
    ///
    /// The login replaces one of another user; the other apps then drop that user's tokens. ``accessToken()`` exchanges the
    /// login for this app too, if the operator allowed it to (`--self-exchange`).
    /// - Parameters:
    ///   - prompt: `login` always asks for credentials, `consent` for consent.
    ///   - demand: What the broker asked for with `interaction_required`.
    ///   - browser: Opens the address; `ASWebAuthenticationSession` on Apple's systems.
    /// - Throws: ``ClientError``. Nothing stored has changed, except after `keychain`: the login may be stored.
    @discardableResult
    public func logIn(
        prompt: String? = nil, meeting demand: LoginDemand = LoginDemand(), in browser: Browser
    ) async throws(ClientError) -> Outcome {
        let known: SharedLogin?
        do throws(ClientError) {
            known = try await SharedLogin.stored(in: shared)?.login
        } catch .keychainItem(.corrupt) {
            known = nil
        }
        let attempt = try await attempt()
        let address: String
        if let uri = demand.authorizationURI {
            guard let completed = attempt.address(completing: uri) else { throw .untrustedMetadata(.otherIssuer) }
            address = completed
        } else {
            address = attempt.address(
                prompt: prompt, contextClasses: demand.contextClasses, maximumAge: demand.maximumAge)
        }
        let callback: String
        do {
            callback = try await browser(address)
        } catch {
            throw .browser(error)
        }
        let code: Credential
        do throws(CallbackError) {
            code = try attempt.code(from: callback)
        } catch {
            throw .callback(error)
        }
        let (login, outcome) = try await redeem(code, of: attempt, known: known)
        do {
            try await login.save(to: shared)
            // They may be of another user, or this app may have signed out.
            if let loadedTokens { try await loadedTokens.reset() } else { try await own.removeItem(AppTokens.item) }
        } catch {
            throw .keychain(error)
        }
        return outcome
    }

    /// Logs in with the session that the browser has at the IdP, without a page that the user must act on
    /// (`prompt=none`).
    ///
    /// - Parameters:
    ///   - limit: How long the browser may take. A page that waits for the user would wait forever.
    ///   - browser: Opens the address.
    /// - Throws: ``ClientError``: `callback(.refused)` with `login_required`, `consent_required` or
    ///   `interaction_required` if the user must act; `silentLoginTimedOut` after the limit.
    @discardableResult
    public func logInSilently(
        within limit: Duration = .seconds(10), in browser: @escaping Browser
    ) async throws(ClientError) -> Outcome {
        do throws(ClientError) {
            return try await logIn(prompt: "none") { address in
                try await TimeLimit.run(limit) { try await browser(address) }
            }
        } catch {
            if case .browser(is TimeLimit.Passed) = error { throw .silentLoginTimedOut }
            throw error
        }
    }

    /// The claims of the user at the IdP's userinfo endpoint. OpenID Connect Core §5.3.
    ///
    /// - Throws: ``ClientError``: `otherUserInfo` if it is of another user than the id_token.
    public func userInfo(of outcome: Outcome) async throws(ClientError) -> JSONObject {
        guard let address = try await metadata(of: configuration.provider).userInfoEndpoint else {
            throw .untrustedMetadata(.missing("userinfo_endpoint"))
        }
        let response = try await transport.answer(
            TransportRequest(
                address,
                fields: [
                    ("Accept", "application/json"), ("Authorization", "Bearer \(outcome.tokens.accessToken.secret)"),
                ]))
        guard response.status == 200 else { throw response.failure }
        guard let json = (try? JSONReader.parse(response.body))?.object else {
            throw .unexpectedAnswer(status: response.status)
        }
        guard json.string("sub")?.hasSameOctets(as: outcome.claims.user.subject) == true else { throw .otherUserInfo }
        return json
    }

    private func attempt() async throws(ClientError) -> LoginAttempt {
        let provider = try await metadata(of: configuration.provider)
        guard let authorizationEndpoint = provider.authorizationEndpoint else {
            throw .untrustedMetadata(.missing("authorization_endpoint"))
        }
        var scopes = ScopeTokens(configuration.loginScope)?.tokens ?? []
        for needed in ["openid"] + (asksForDeviceSecret ? ["device_sso"] : []) where !scopes.contains(needed) {
            scopes.append(needed)
        }
        return LoginAttempt(
            provider: IdentityProvider(
                issuer: provider.issuer, authorizationEndpoint: authorizationEndpoint,
                tokenEndpoint: provider.tokenEndpoint),
            clientID: configuration.providerClientID, redirectURI: configuration.redirectURI,
            scope: scopes.joined(separator: " "))
    }

    private var asksForDeviceSecret: Bool { configuration.sharing == .provider && configuration.profile != .deviceID }

    /// - Parameter known: The login in the keychain, whose device value is used again.
    private func redeem(
        _ code: Credential, of attempt: LoginAttempt, known: SharedLogin?
    ) async throws(ClientError) -> (SharedLogin, Outcome) {
        var device: DeviceIdentifier?
        if configuration.profile == .deviceID {
            if case .identifier(let identifier)? = known?.device { device = identifier } else { device = .init() }
        }
        if configuration.sharing == .codeEnrolment {
            let broker = try await brokerEndpoint(prover: nil)
            let (login, tokens) = try await broker.enrol(
                code, of: attempt, issuer: configuration.broker, device: device, at: now())
            let claims = try await verified(login.idToken, from: configuration.broker, attempt.clientID, attempt.nonce)
            return (login, Outcome(claims: claims, tokens: tokens))
        }
        let provider = endpoint(
            at: attempt.provider.tokenEndpoint, clientID: configuration.providerClientID, prover: nil)
        let isShared = configuration.sharing == .provider
        let tokens = try await provider.redeem(
            code, of: attempt, device: isShared ? device : nil, deviceSecret: isShared ? known?.device.secret : nil,
            at: now())
        guard let idToken = tokens.idToken else { throw .untrustedIDToken(.missing) }
        let claims = try await verified(idToken, from: configuration.provider, attempt.clientID, attempt.nonce)
        let outcome = Outcome(claims: claims, tokens: tokens)
        guard isShared else {
            let broker = try await brokerEndpoint(prover: nil)
            let login = try await broker.enrol(idToken, issuer: configuration.provider, device: device)
            _ = try await verified(login.idToken, from: configuration.broker, configuration.clientID, nil)
            return (login, outcome)
        }
        switch (configuration.profile, device, tokens.deviceSecret) {
        case (.deviceID, let device?, _): return (SharedLogin(idToken: idToken, device: .identifier(device)), outcome)
        case (.deviceSecret, _, let secret?): return (SharedLogin(idToken: idToken, device: .secret(secret)), outcome)
        case (.transitionalDeviceSecret, _, let secret?):
            return (SharedLogin(idToken: idToken, device: .transitionalSecret(secret)), outcome)
        default: throw .unexpectedAnswer(status: 200)
        }
    }

    private func verified(
        _ idToken: Credential, from issuer: String, _ clientID: String, _ nonce: String?
    ) async throws(ClientError) -> IDTokenClaims {
        let keys: IssuerKeys
        if let known = loadedKeys[issuer] {
            keys = known
        } else {
            keys = IssuerKeys(try await metadata(of: issuer).keySet, transport, now: now)
            loadedKeys[issuer] = keys
        }
        return try IDTokenClaims(
            try await keys.verify(idToken), from: issuer, for: clientID, nonce: nonce, at: now())
    }

    // MARK: Discovery

    /// The discovery document of an issuer, loaded once.
    func metadata(of issuer: String) async throws(ClientError) -> ServerMetadata {
        if let known = loadedMetadata[issuer] { return known }
        let metadata = try await ServerMetadata.load(issuer, transport)
        loadedMetadata[issuer] = metadata
        return metadata
    }

    /// Proofs for the API at this address, with its nonces; nil if the app has no key.
    func proofs(for address: String) -> ServerProofs? {
        guard let prover else { return nil }
        let origin = String(address.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//"))
        let proofs = loadedProofs[origin] ?? ServerProofs(prover)
        loadedProofs[origin] = proofs
        return proofs
    }

    private func brokerEndpoint(prover: DPoPProver?) async throws(ClientError) -> TokenEndpoint {
        endpoint(at: try await metadata(of: configuration.broker).tokenEndpoint, prover: prover)
    }

    private func endpoint(at address: String, clientID: String? = nil, prover: DPoPProver?) -> TokenEndpoint {
        TokenEndpoint(
            address: address, clientID: clientID ?? configuration.clientID,
            identification: configuration.profile == .deviceID ? .basic : .form, transport: transport, prover: prover)
    }
}

extension DeviceProof {
    /// `device_secret`; nil in the profile of 2018.
    fileprivate var secret: Credential? {
        switch self {
        case .identifier: nil
        case .secret(let secret), .transitionalSecret(let secret): secret
        }
    }
}
