public import OAuthWire
import StrictCoding

/// One client at one token endpoint. Stores no tokens.
public struct TokenEndpoint: Sendable {
    /// How a public client identifies itself.
    public enum Identification: Sendable {
        /// `client_id` in the form (RFC 6749 §3.2.1): the current profile.
        case form
        /// HTTP Basic with an empty password (RFC 6749 §2.3.1): the 2018 profile.
        case basic
    }

    /// The URL of the token endpoint.
    public let address: String
    /// The app's `client_id` at this endpoint.
    public let clientID: String
    /// How the client identifies itself.
    public let identification: Identification
    private let transport: any HTTPTransport
    let prover: DPoPProver?
    private let proofs: ServerProofs?

    /// Creates the client of one token endpoint.
    ///
    /// - Parameters:
    ///   - address: The URL of the token endpoint.
    ///   - clientID: The app's `client_id` at this endpoint.
    ///   - identification: How the client identifies itself.
    ///   - transport: Sends the requests.
    ///   - prover: Proves possession of the app's key (RFC 9449); nil: tokens are not bound.
    public init(
        address: String, clientID: String, identification: Identification = .form, transport: any HTTPTransport,
        prover: DPoPProver? = nil
    ) {
        self.address = address
        self.clientID = clientID
        self.identification = identification
        self.transport = transport
        self.prover = prover
        proofs = prover.map(ServerProofs.init)
    }

    /// Redeems the code of a login (RFC 6749 §4.1.3) and checks the id_token in the response (OpenID Connect
    /// Core §3.1.3.7).
    ///
    /// - Parameters:
    ///   - code: The code of the callback.
    ///   - attempt: The login that the code is the answer to.
    ///   - device: 2018 profile: the `device_id` that the IdP includes in the id_token as `di_hash`.
    ///   - deviceSecret: The device's existing secret. The response contains the one to use from now on
    ///     (Native SSO §3.3).
    ///   - now: The current time in seconds since 1970.
    /// - Throws: ``ClientError``.
    public func redeem(
        _ code: Credential, of attempt: LoginAttempt, device: DeviceIdentifier? = nil, deviceSecret: Credential? = nil,
        at now: Int64
    ) async throws(ClientError) -> TokenSet {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.authorizationCode.rawValue), (Parameter.code, code.secret),
            (Parameter.redirectURI, attempt.redirectURI), (Parameter.codeVerifier, attempt.verifier.text),
        ]
        if let device { form.append((Parameter.deviceID, device.text)) }
        if let deviceSecret { form.append((Parameter.deviceSecret, deviceSecret.secret)) }
        let tokens = try await send(form)
        _ = try attempt.check(tokens.idToken, from: attempt.provider.issuer, at: now)
        return tokens
    }

    /// Redeems the code of a login at a broker that relays codes, for an IdP without Native SSO. If no response
    /// arrives, repeat the call within 30 s: the broker returns the same response.
    ///
    /// - Parameters:
    ///   - code: The code of the callback.
    ///   - attempt: The login that the code is the answer to.
    ///   - issuer: The broker's issuer, which is the `iss` of the returned id_token.
    ///   - device: 2018 profile: the `device_id`. `nil`: current profile, and the response contains the device secret.
    ///   - now: The current time in seconds since 1970.
    /// - Returns: The login to share, and this app's tokens from the IdP.
    /// - Throws: ``ClientError``.
    public func enrol(
        _ code: Credential, of attempt: LoginAttempt, issuer: String, device: DeviceIdentifier? = nil, at now: Int64
    ) async throws(ClientError) -> (login: SharedLogin, tokens: TokenSet) {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.authorizationCode.rawValue), (Parameter.code, code.secret),
            (Parameter.redirectURI, attempt.redirectURI), (Parameter.codeVerifier, attempt.verifier.text),
            (Parameter.audience, attempt.provider.issuer),
        ]
        if let device {
            form.append((Parameter.deviceID, device.text))
        } else {
            form.append((Parameter.scope, "openid device_sso"))
        }
        let tokens = try await send(form)
        let idToken = try attempt.check(tokens.idToken, from: issuer, at: now)
        let proof = try tokens.proof(of: device)
        return (SharedLogin(idToken: idToken, device: proof, providerIDToken: tokens.providerIDToken), tokens)
    }

    /// Enrols this client's login at the broker, for an IdP without Native SSO. Returns the login to share; its
    /// issuer is the broker.
    ///
    /// - Parameters:
    ///   - idToken: The id_token of the login. It allows one enrolment, within 5 minutes of its issue.
    ///   - issuer: The IdP's issuer.
    ///   - device: 2018 profile: the `device_id`; repeat the call with it if no response arrives. `nil`: current
    ///     profile, and the response contains the device secret; a lost response requires a new login.
    /// - Throws: ``ClientError``.
    public func enrol(
        _ idToken: Credential, issuer: String, device: DeviceIdentifier? = nil
    ) async throws(ClientError) -> SharedLogin {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.tokenExchange.rawValue), (Parameter.audience, issuer),
            (Parameter.subjectToken, idToken.secret), (Parameter.subjectTokenType, TokenTypeURI.idToken.rawValue),
            (Parameter.requestedTokenType, TokenTypeURI.idToken.rawValue),
        ]
        if let device {
            form.append((Parameter.actorToken, device.text))
            form.append((Parameter.actorTokenType, TokenTypeURI.deviceID.rawValue))
        } else {
            form.append((Parameter.scope, "openid device_sso"))
        }
        let tokens = try await send(form)
        guard let enrolled = tokens.idToken else { throw .untrustedIDToken(.missing) }
        return SharedLogin(idToken: enrolled, device: try tokens.proof(of: device), providerIDToken: idToken)
    }

    /// Exchanges a shared login for tokens of this client: RFC 8693, Native SSO §4.
    ///
    /// - Parameters:
    ///   - login: The login of the shared keychain.
    ///   - issuer: The issuer of the login's id_token.
    ///   - scope: nil: the client's default.
    /// - Throws: ``ClientError``.
    public func exchange(
        _ login: SharedLogin, issuer: String, scope: String? = nil
    ) async throws(ClientError) -> TokenSet {
        try await send(exchange(of: login, issuer, scope))
    }

    /// Asks the broker for a code that hands a shared login to a web app. The tokens of this client do not change.
    ///
    /// - Parameters:
    ///   - login: The login of the shared keychain.
    ///   - issuer: The issuer of the login's id_token.
    ///   - webApp: The `client_id` of the web app.
    ///   - origin: Where the app opens the code, such as `https://web.example.com`.
    ///   - challenge: The challenge that the web app gave to the app when it opened it.
    ///   - scope: The largest scope of the web app; nil: its default.
    /// - Returns: The code. It is good once, for 60 s.
    /// - Throws: ``ClientError``. A refusal may concern the web app alone, so it says nothing of the login.
    public func handOff(
        _ login: SharedLogin, issuer: String, to webApp: String, origin: String, challenge: String,
        scope: String? = nil
    ) async throws(ClientError) -> Credential {
        let tokens = try await send(
            exchange(of: login, issuer, scope) + [
                (Parameter.requestedTokenType, TokenTypeURI.webHandoff.rawValue), (Parameter.handoffClient, webApp),
                (Parameter.handoffOrigin, origin), (Parameter.handoffChallenge, challenge),
            ])
        // A server that does not know hand-offs may answer with tokens, which must not get into a URL.
        guard tokens.tokenType.hasSameOctets(as: TokenType.notApplicable.rawValue) else {
            throw .unexpectedAnswer(status: 200)
        }
        return tokens.accessToken
    }

    private func exchange(
        of login: SharedLogin, _ issuer: String, _ scope: String?
    ) -> [(name: String, value: String)] {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.tokenExchange.rawValue), (Parameter.audience, issuer),
            (Parameter.subjectToken, login.idToken.secret),
            (Parameter.subjectTokenType, TokenTypeURI.idToken.rawValue),
            (Parameter.actorToken, login.device.actorToken),
            (Parameter.actorTokenType, login.device.tokenType.rawValue),
        ]
        if let scope { form.append((Parameter.scope, scope)) }
        return form
    }

    /// Refreshes the tokens (RFC 6749 §6). If no response arrives, repeat the call with the same token: within the
    /// grace period the broker returns the same successor.
    ///
    /// - Parameters:
    ///   - token: The refresh token.
    ///   - scope: A subset of the granted scopes; nil: all of them.
    /// - Throws: ``ClientError``.
    public func refresh(_ token: Credential, scope: String? = nil) async throws(ClientError) -> TokenSet {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.refreshToken.rawValue), (Parameter.refreshToken, token.secret),
        ]
        if let scope { form.append((Parameter.scope, scope)) }
        return try await send(form)
    }

    /// Ends the grant of a refresh token, or with the device value every session of the device. RFC 7009.
    ///
    /// - Parameters:
    ///   - token: A refresh token; or, in the current profile, the `device_secret`, to sign the device out.
    ///   - hint: `token_type_hint`: `device_secret` or nil.
    ///   - device: 2018 profile: signs the device out, together with a refresh token of this app.
    ///   - address: The broker's `revocation_endpoint`.
    /// - Throws: ``ClientError``. After an error nothing is known to have ended: repeat the call.
    public func revoke(
        _ token: Credential, hint: String? = nil, device: DeviceIdentifier? = nil, at address: String
    ) async throws(ClientError) {
        var form: [(name: String, value: String)] = [(Parameter.token, token.secret)]
        if let hint { form.append((Parameter.tokenTypeHint, hint)) }
        if let device { form.append((Parameter.deviceID, device.text)) }
        let response = try await transport.answer(request(form, to: address))
        guard response.status == 200 else { throw response.failure }
    }

    private func send(_ form: [(name: String, value: String)]) async throws(ClientError) -> TokenSet {
        let response = try await post(form)
        // Retry once with the nonce from the response. A server that refuses it would refuse the next one too.
        guard proofs != nil, response.asksForNonce else { return try response.tokens() }
        return try await post(form).tokens()
    }

    private func post(_ form: [(name: String, value: String)]) async throws(ClientError) -> TransportResponse {
        var request = request(form, to: address)
        if let proofs { request.fields.append(("DPoP", try await proofs.proof(for: address))) }
        let response = try await transport.answer(request)
        if let nonce = response[field: "DPoP-Nonce"] { await proofs?.note(nonce) }
        return response
    }

    private func request(_ form: [(name: String, value: String)], to address: String) -> TransportRequest {
        switch identification {
        case .form: TransportRequest(form: form + [(Parameter.clientID, clientID)], to: address, [])
        case .basic:
            TransportRequest(
                form: form, to: address, [("Authorization", BasicCredentials(clientID: clientID).headerValue)])
        }
    }
}

extension TransportResponse {
    /// The tokens in the response. The status is checked first.
    func tokens() throws(ClientError) -> TokenSet {
        guard status == 200 else { throw failure }
        guard let tokens = TokenSet(body) else { throw .unexpectedAnswer(status: status) }
        return tokens
    }

    /// What a response without success says.
    var failure: ClientError {
        switch status {
        case 429, 500...599: .unavailable(status: status, retryAfter: delay)
        case 400, 401: refusal.map(ClientError.refused) ?? .unexpectedAnswer(status: status)
        default: .unexpectedAnswer(status: status)
        }
    }

    /// RFC 9449 §8.
    var asksForNonce: Bool {
        status == 400 && self[field: "DPoP-Nonce"] != nil && refusal?.code == .useDPoPNonce
    }

    private var refusal: TokenRefusal? {
        guard let json = (try? JSONReader.parse(body))?.object, let error = json.string("error") else { return nil }
        return TokenRefusal(
            status: status, error: error, description: json.string("error_description"),
            requestID: self[field: "X-Request-Id"],
            demand: LoginDemand(
                contextClasses: (json.string("acr_values") ?? "").split(separator: " ").map(String.init),
                maximumAge: json.number("max_age")?.wholeSeconds, authorizationURI: json.string("authorization_uri")))
    }

    /// `Retry-After` in seconds (RFC 9110 §10.2.3), limited to an hour. Ignores a date, because a phone's clock may
    /// be wrong.
    private var delay: Duration? {
        guard let seconds = self[field: "Retry-After"].flatMap({ Int64($0) }), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 3600))
    }
}

/// DPoP proofs for one server, with its last nonce.
actor ServerProofs {
    private let prover: DPoPProver
    private var nonce: String?

    init(_ prover: DPoPProver) {
        self.prover = prover
    }

    func proof(
        _ method: String = "POST", for address: String, accessToken: Credential? = nil
    ) async throws(ClientError) -> String {
        do {
            return try await prover.proof(method, address, nonce: nonce, accessToken: accessToken)
        } catch {
            throw .proofKey(error)
        }
    }

    /// RFC 9449 §8.2: any response may contain a new nonce.
    func note(_ fresh: String) { nonce = fresh }
}

extension TokenSet {
    /// The device value of an enrolled login: the app's own, or the secret in the answer.
    fileprivate func proof(of device: DeviceIdentifier?) throws(ClientError) -> DeviceProof {
        if let device { return .identifier(device) }
        guard let deviceSecret else { throw .unexpectedAnswer(status: 200) }
        return .secret(deviceSecret)
    }
}

extension LoginAttempt {
    /// Checks the claims of the id_token in the answer to this attempt.
    fileprivate func check(
        _ idToken: Credential?, from issuer: String, at now: Int64
    ) throws(ClientError) -> Credential {
        guard let idToken else { throw .untrustedIDToken(.missing) }
        _ = try IDTokenClaims(
            try IDTokenClaims.unverified(idToken), from: issuer, for: clientID, nonce: nonce, at: now)
        return idToken
    }
}
