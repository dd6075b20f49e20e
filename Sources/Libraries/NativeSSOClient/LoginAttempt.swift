import Crypto
public import OAuthWire
import StrictCoding

/// One login in the system browser: code flow with PKCE. RFC 8252, OpenID Connect Core §3.1.
///
/// Create one per attempt. Open ``address(prompt:contextClasses:maximumAge:)`` in the system browser, never in a web
/// view (RFC 8252 §8.12). Pass the URL of the callback to ``code(from:)``.
public struct LoginAttempt: Sendable {
    /// The IdP to log in at.
    public let provider: IdentityProvider
    /// The app's `client_id` at the IdP.
    public let clientID: String
    /// The app's registered `redirect_uri`, which receives the callback (RFC 8252 §7).
    public let redirectURI: String
    /// The requested scopes, separated by spaces.
    public let scope: String
    /// The PKCE secret of this attempt (RFC 7636).
    public let verifier: CodeVerifier
    /// A random value that ties the callback to this attempt (RFC 6749 §10.12).
    public let state: String
    /// A random value that ties the id_token to this attempt (OpenID Connect Core §3.1.2.1).
    public let nonce: String

    /// Starts an attempt with new random values.
    ///
    /// - Parameters:
    ///   - provider: The IdP to log in at.
    ///   - clientID: The app's `client_id` at the IdP.
    ///   - redirectURI: The app's registered `redirect_uri`.
    ///   - scope: Must contain `openid`; `device_sso` requests a device secret (Native SSO §3.1).
    public init(provider: IdentityProvider, clientID: String, redirectURI: String, scope: String) {
        self.init(
            provider: provider, clientID: clientID, redirectURI: redirectURI, scope: scope, verifier: CodeVerifier(),
            state: RandomText.make(), nonce: RandomText.make())
    }

    /// An attempt with given values.
    init(
        provider: IdentityProvider, clientID: String, redirectURI: String, scope: String, verifier: CodeVerifier,
        state: String, nonce: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
        self.verifier = verifier
        self.state = state
        self.nonce = nonce
    }

    /// The URL of the authorization request (OpenID Connect Core §3.1.2.1).
    ///
    /// - Parameters:
    ///   - prompt: `none`: use an existing session or fail. `login`: always ask for credentials.
    ///   - contextClasses: `acr_values`, from ``LoginDemand/contextClasses``.
    ///   - maximumAge: `max_age` in seconds, from ``LoginDemand/maximumAge``.
    public func address(
        prompt: String? = nil, contextClasses: [String] = [], maximumAge: Int64? = nil
    ) -> String {
        var request = AuthorizationRequest(to: provider.authorizationEndpoint, clientID: clientID, scope: scope)
        for (name, value) in ours { request.add(name, value) }
        if let prompt { request.add("prompt", prompt) }
        request.demand(contextClasses: contextClasses, maximumAge: maximumAge)
        return request.uri
    }

    /// Completes the broker's authorization request, ``LoginDemand/authorizationURI``, with this attempt's parameters.
    ///
    /// - Returns: `nil` unless it is a request of this client to this IdP: the app must open no other URL.
    public func address(completing authorizationURI: String) -> String? {
        let endpoint = provider.authorizationEndpoint
        let prefix = endpoint + Callback.separator(after: endpoint)
        guard authorizationURI.utf8.starts(with: prefix.utf8),
            let request = try? FormDecoder.decode(authorizationURI.utf8.dropFirst(prefix.utf8.count), rules: .callback),
            request["response_type"] == "code", request[Parameter.clientID]?.hasSameOctets(as: clientID) == true,
            ours.allSatisfy({ request[$0.name] == nil })
        else { return nil }
        return AuthorizationRequest.adding(ours, to: authorizationURI)
    }

    /// The parameters that only the app can add.
    private var ours: [(name: String, value: String)] {
        [
            (Parameter.redirectURI, redirectURI), ("state", state), ("nonce", nonce),
            ("code_challenge", verifier.challenge), ("code_challenge_method", "S256"),
        ]
    }

    /// The authorization code in the callback URL (RFC 6749 §4.1.2).
    ///
    /// - Throws: ``CallbackError``. After any error, start a new attempt.
    public func code(from callback: String) throws(CallbackError) -> Credential {
        let answer = try Callback.parameters(of: callback, at: redirectURI, state: state)
        // RFC 9207 §2.4: another issuer indicates a mix-up attack. An IdP may omit `iss`.
        if let issuer = answer["iss"], !issuer.hasSameOctets(as: provider.issuer) { throw .otherIssuer }
        if let error = answer["error"] { throw .refused(error) }
        guard let code = answer[Parameter.code] else { throw .malformed }
        return Credential(code)
    }
}

/// The URL with which the browser comes back to the app.
enum Callback {
    /// The parameters of a callback to `address`, if it belongs to the request with this `state`.
    static func parameters(
        of callback: String, at address: String, state: String
    ) throws(CallbackError) -> FormParameters {
        let prefix = address + separator(after: address)
        guard callback.utf8.starts(with: prefix.utf8),
            let answer = try? FormDecoder.decode(callback.utf8.dropFirst(prefix.utf8.count), rules: .callback)
        else { throw .malformed }
        guard let returned = answer["state"], ConstantTime.equal(returned.utf8, state.utf8) else { throw .otherState }
        return answer
    }

    /// `address` may already have a query (RFC 6749 §3.1).
    static func separator(after address: String) -> String {
        address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    }
}

/// Why a callback contains no valid code.
public enum CallbackError: Error, Sendable, Equatable {
    /// The URL is not a response to an authorization request.
    case malformed
    /// `state` differs: the response belongs to another request.
    case otherState
    /// `iss` differs: the response comes from another IdP (RFC 9207).
    case otherIssuer
    /// The IdP's error code, such as `access_denied` or `login_required` (RFC 6749 §4.1.2.1).
    case refused(String)
}

extension FormRules {
    fileprivate static let callback = FormRules(maximumValueLength: 4096)
}

/// The app's configuration of an IdP: from its discovery document, or built in.
public struct IdentityProvider: Sendable {
    /// Exactly the `iss` of the IdP's id_tokens. Also the `audience` of an exchange.
    public let issuer: String
    /// The URL at which users log in.
    public let authorizationEndpoint: String
    /// The URL that redeems the app's codes: the IdP's, or the broker's if it relays codes.
    public let tokenEndpoint: String

    /// Creates a configuration; checks nothing.
    public init(issuer: String, authorizationEndpoint: String, tokenEndpoint: String) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
    }
}

/// The secret of one login attempt (RFC 7636). Keep it in memory, and send it only to the token endpoint. Prints as
/// `****`.
public struct CodeVerifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// 43 to 128 unreserved characters (RFC 7636 §4.1). Never log it.
    public let text: String

    /// Creates a verifier: 32 random octets as 43 base64url characters.
    public init() {
        text = RandomText.make()
    }

    /// An existing verifier; nil unless `text` has 43 to 128 unreserved characters.
    public init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(\.isUnreserved) else { return nil }
        self.text = text
    }

    /// `code_challenge` for the method S256 (RFC 7636 §4.2).
    public var challenge: String {
        Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Unguessable values.
enum RandomText {
    /// 32 random octets as 43 base64url characters.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        var octets: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: generator.next() as UInt64) { octets.append(contentsOf: $0) } }
        return Base64URL.encode(octets)
    }
}
