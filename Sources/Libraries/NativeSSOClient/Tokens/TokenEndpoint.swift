public import OAuthWire
import StrictCoding
import Synchronization

/// One client at one token endpoint. Holds no tokens.
public struct TokenEndpoint: Sendable {
    /// How a public client says who it is.
    public enum Identification: Sendable {
        /// `client_id` in the form: the current profile.
        case form
        /// HTTP Basic with an empty password: the 2018 profile.
        case basic
    }

    public let address: String
    public let clientID: String
    public let identification: Identification
    private let transport: any HTTPTransport
    private let proofs: EndpointProofs?

    /// - Parameter prover: With the app's key, where the tokens are to be bound to it.
    public init(
        address: String, clientID: String, identification: Identification = .form, transport: any HTTPTransport,
        prover: DPoPProver? = nil
    ) {
        self.address = address
        self.clientID = clientID
        self.identification = identification
        self.transport = transport
        proofs = prover.map(EndpointProofs.init)
    }

    /// Redeems the code of a login. The answer has a checked id_token.
    ///
    /// - Parameters:
    ///   - device: The 2018 profile's `device_id`, to be stamped into the id_token.
    ///   - deviceSecret: A secret that the device got earlier; the answer says which one holds from now on.
    ///   - now: Seconds since 1970.
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
        guard let idToken = tokens.idToken else { throw .untrustedIDToken(.missing) }
        try IDTokenCheck.check(idToken.secret, of: attempt, from: attempt.provider.issuer, at: now)
        return tokens
    }

    /// Redeems the code of a login at the broker, where the identity provider knows nothing of Native SSO and the broker relays
    /// codes. Where no answer came, the same call may be made again, within half a minute: the broker gives the same answer.
    ///
    /// - Parameters:
    ///   - issuer: The broker's, whose id_token it is that comes back.
    ///   - device: The 2018 profile's `device_id`. `nil`: the current profile, whose device secret comes with the answer.
    ///   - now: Seconds since 1970.
    /// - Returns: The login to share, and this app's own tokens, which are the identity provider's.
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
        guard let idToken = tokens.idToken else { throw .untrustedIDToken(.missing) }
        try IDTokenCheck.check(idToken.secret, of: attempt, from: issuer, at: now)
        if let device { return (SharedLogin(idToken: idToken, device: .identifier(device)), tokens) }
        guard let secret = tokens.deviceSecret else { throw .unexpectedAnswer(status: 200) }
        return (SharedLogin(idToken: idToken, device: .secret(secret)), tokens)
    }

    /// Enrols a login of this client at the broker, where the identity provider knows nothing of Native SSO. What comes back is
    /// the login to share; its issuer is the broker.
    ///
    /// - Parameters:
    ///   - idToken: Of the login that just happened; good for one enrolment, within five minutes.
    ///   - issuer: The identity provider's.
    ///   - device: The 2018 profile's `device_id`, with which an answer that was lost is asked for again. `nil`: the current
    ///     profile, whose device secret comes with the answer; one that was lost means another login.
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
        if let device { return SharedLogin(idToken: enrolled, device: .identifier(device)) }
        guard let secret = tokens.deviceSecret else { throw .unexpectedAnswer(status: 200) }
        return SharedLogin(idToken: enrolled, device: .secret(secret))
    }

    /// Exchanges a shared login for tokens of this client: RFC 8693 in the profiles of Native SSO.
    ///
    /// - Parameters:
    ///   - issuer: Of the login's id_token.
    ///   - scope: nil for the client's default.
    public func exchange(
        _ login: SharedLogin, issuer: String, scope: String? = nil
    ) async throws(ClientError) -> TokenSet {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.tokenExchange.rawValue), (Parameter.audience, issuer),
            (Parameter.subjectToken, login.idToken.secret),
            (Parameter.subjectTokenType, TokenTypeURI.idToken.rawValue),
            (Parameter.actorToken, login.device.actorToken),
            (Parameter.actorTokenType, login.device.tokenType.rawValue),
        ]
        if let scope { form.append((Parameter.scope, scope)) }
        return try await send(form)
    }

    /// Refreshes. Where no answer came, the same token may be sent again: the broker re-delivers the same successor.
    public func refresh(_ token: Credential, scope: String? = nil) async throws(ClientError) -> TokenSet {
        var form: [(name: String, value: String)] = [
            (Parameter.grantType, GrantType.refreshToken.rawValue), (Parameter.refreshToken, token.secret),
        ]
        if let scope { form.append((Parameter.scope, scope)) }
        return try await send(form)
    }

    private func send(_ form: [(name: String, value: String)]) async throws(ClientError) -> TokenSet {
        let response = try await post(form)
        // Once more with the nonce that the answer holds, and not again: whoever refuses that one refuses the next, too.
        guard proofs != nil, response.asksForNonce else { return try response.tokens() }
        return try await post(form).tokens()
    }

    private func post(_ form: [(name: String, value: String)]) async throws(ClientError) -> TransportResponse {
        let proof: String? =
            if let proofs { try await proofs.proof(for: address) } else { nil }
        let request =
            switch identification {
            case .form:
                TransportRequest(
                    address: address, authorization: nil, dpop: proof,
                    body: FormEncoder.encode(form + [(Parameter.clientID, clientID)]))
            case .basic:
                TransportRequest(
                    address: address, authorization: BasicCredentials(clientID: clientID).headerValue, dpop: proof,
                    body: FormEncoder.encode(form))
            }
        let response: TransportResponse
        do {
            response = try await transport.post(request)
        } catch {
            throw .noAnswer(error)
        }
        proofs?.note(response)
        return response
    }
}

extension TransportResponse {
    /// The tokens in the answer; its status decides first what it is.
    func tokens() throws(ClientError) -> TokenSet {
        switch status {
        case 200:
            guard let tokens = TokenSet(body) else { throw .unexpectedAnswer(status: status) }
            return tokens
        case 429, 500...599: throw .unavailable(status: status, retryAfter: delay)
        case 400, 401:
            guard let refusal else { throw .unexpectedAnswer(status: status) }
            throw .refused(refusal)
        default: throw .unexpectedAnswer(status: status)
        }
    }

    /// RFC 9449 §8.
    var asksForNonce: Bool { status == 400 && dpopNonce != nil && refusal?.code == .useDPoPNonce }

    private var refusal: TokenRefusal? {
        guard let json = (try? JSONReader.parse(body))?.object, let error = json.string("error") else { return nil }
        return TokenRefusal(
            status: status, error: error, description: json.string("error_description"), requestID: requestID,
            demand: LoginDemand(
                contextClasses: (json.string("acr_values") ?? "").split(separator: " ").map(String.init),
                maximumAge: json.number("max_age")?.wholeSeconds, authorizationURI: json.string("authorization_uri")))
    }

    /// `Retry-After` in seconds (RFC 9110 §10.2.3), an hour at most. A date is not read: the phone's clock may be off.
    private var delay: Duration? {
        guard let retryAfter, let seconds = Int64(retryAfter), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 3600))
    }
}

/// The proofs for one token endpoint, with the nonce that it gave last.
final class EndpointProofs: Sendable {
    private let prover: DPoPProver
    private let nonce = Mutex<String?>(nil)

    init(_ prover: DPoPProver) {
        self.prover = prover
    }

    func proof(for address: String) async throws(ClientError) -> String {
        do {
            return try await prover.proof("POST", address, nonce: nonce.withLock { $0 })
        } catch {
            throw .proofKey(error)
        }
    }

    /// RFC 9449 §8.2: any answer may hold a new one.
    func note(_ answer: TransportResponse) {
        if let fresh = answer.dpopNonce { nonce.withLock { $0 = fresh } }
    }
}

/// What an app asks of the id_token that a token endpoint just gave it, OpenID Connect Core §3.1.3.7.
///
/// Not checked: the signature. The token came from the provider itself over a TLS connection that the app opened, which
/// §3.1.3.7, item 6, takes in its place. The broker verifies the signature before it believes anything.
enum IDTokenCheck {
    /// - Parameter issuer: Whose token it must be: that of the provider, or of a broker that redeemed the code.
    static func check(
        _ idToken: String, of attempt: LoginAttempt, from issuer: String, at now: Int64
    ) throws(ClientError) {
        let segments = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let payload = Base64URL.decode(segments[1].utf8),
            let claims = (try? JSONReader.parse(payload))?.object
        else { throw .untrustedIDToken(.malformed) }
        guard claims.string("iss")?.hasSameOctets(as: issuer) == true else {
            throw .untrustedIDToken(.otherIssuer)
        }
        let audience = claims.string("aud").map { [$0] } ?? claims.strings("aud") ?? []
        guard audience.count == 1, audience[0].hasSameOctets(as: attempt.clientID) else {
            throw .untrustedIDToken(.otherAudience)
        }
        guard claims.string("nonce")?.hasSameOctets(as: attempt.nonce) == true else {
            throw .untrustedIDToken(.otherNonce)
        }
        guard let expiry = claims.number("exp")?.wholeSeconds, now - leeway < expiry else {
            throw .untrustedIDToken(.expired)
        }
    }

    /// Clocks of phones are off. Seconds.
    private static let leeway: Int64 = 300
}
