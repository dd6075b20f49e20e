import Crypto
public import OAuthWire
import StrictCoding

/// One login in the system browser: code flow with PKCE, RFC 8252 and OpenID Connect Core §3.1.
///
/// Make one for each attempt, open ``address`` in the system's browser (never in a web view, RFC 8252 §8.12), and hand the
/// address that the browser came back with to ``code(from:)``.
public struct LoginAttempt: Sendable {
    public let provider: IdentityProvider
    public let clientID: String
    public let redirectURI: String
    public let scope: String
    public let verifier: CodeVerifier
    public let state: String
    public let nonce: String

    /// - Parameter scope: Holds `openid`; `device_sso` asks for a device secret (Native SSO §3.1).
    public init(provider: IdentityProvider, clientID: String, redirectURI: String, scope: String) {
        self.init(
            provider: provider, clientID: clientID, redirectURI: redirectURI, scope: scope, verifier: CodeVerifier(),
            state: RandomText.make(), nonce: RandomText.make())
    }

    /// With values that were chosen elsewhere.
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

    /// The authorization request.
    ///
    /// - Parameters:
    ///   - prompt: `none` to use an existing session or fail, `login` to ask for credentials in any case.
    ///   - contextClasses: `acr_values`, and `maximumAge`: `max_age`, where the broker asked for a stronger or newer login.
    public func address(
        prompt: String? = nil, contextClasses: [String] = [], maximumAge: Int64? = nil
    ) -> String {
        var request = AuthorizationRequest(to: provider.authorizationEndpoint, clientID: clientID, scope: scope)
        for (name, value) in ours { request.add(name, value) }
        if let prompt { request.add("prompt", prompt) }
        request.demand(contextClasses: contextClasses, maximumAge: maximumAge)
        return request.uri
    }

    /// The authorization request that the broker asked for, ``LoginDemand/authorizationURI``, made whole.
    ///
    /// - Returns: `nil` where it is no request of this client to this provider: the browser is sent nowhere else.
    public func address(completing authorizationURI: String) -> String? {
        let endpoint = provider.authorizationEndpoint
        let prefix = endpoint + separator(after: endpoint)
        guard authorizationURI.utf8.starts(with: prefix.utf8),
            let request = try? FormDecoder.decode(authorizationURI.utf8.dropFirst(prefix.utf8.count), rules: .callback),
            request["response_type"] == "code", request[Parameter.clientID]?.hasSameOctets(as: clientID) == true,
            ours.allSatisfy({ request[$0.name] == nil })
        else { return nil }
        return AuthorizationRequest.adding(ours, to: authorizationURI)
    }

    /// What only the app knows.
    private var ours: [(name: String, value: String)] {
        [
            (Parameter.redirectURI, redirectURI), ("state", state), ("nonce", nonce),
            ("code_challenge", verifier.challenge), ("code_challenge_method", "S256"),
        ]
    }

    /// The code in the address that the browser came back with.
    ///
    /// - Throws: ``CallbackError``. Whatever it is, the attempt is over.
    public func code(from callback: String) throws(CallbackError) -> Credential {
        let prefix = redirectURI + separator(after: redirectURI)
        guard callback.utf8.starts(with: prefix.utf8),
            let answer = try? FormDecoder.decode(callback.utf8.dropFirst(prefix.utf8.count), rules: .callback)
        else { throw .malformed }
        guard let state = answer["state"], ConstantTime.equal(state.utf8, self.state.utf8) else { throw .otherState }
        // RFC 9207 §2.4: another issuer's answer is the sign of a mix-up. A provider that sends none is taken as it is.
        if let issuer = answer["iss"], !issuer.hasSameOctets(as: provider.issuer) { throw .otherIssuer }
        if let error = answer["error"] { throw .refused(error) }
        guard let code = answer[Parameter.code] else { throw .malformed }
        return Credential(code)
    }

    /// An address may have a query of its own already (RFC 6749 §3.1).
    private func separator(after address: String) -> String {
        address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    }
}

/// Why a login attempt brought no code.
public enum CallbackError: Error, Sendable, Equatable {
    /// Not an answer to an authorization request.
    case malformed
    /// Not an answer to this one: `state` differs.
    case otherState
    /// It came from another provider (RFC 9207).
    case otherIssuer
    /// The provider's error, for instance `access_denied` or `login_required`.
    case refused(String)
}

extension FormRules {
    fileprivate static let callback = FormRules(maximumValueLength: 4096)
}

/// The identity provider as an app knows it: from its discovery document, or built in.
public struct IdentityProvider: Sendable {
    /// Exactly as in the id_token's `iss`; also the `audience` of an exchange.
    public let issuer: String
    public let authorizationEndpoint: String
    /// Where the app's codes are redeemed: the provider's own endpoint, or the broker's where it relays codes.
    public let tokenEndpoint: String

    public init(issuer: String, authorizationEndpoint: String, tokenEndpoint: String) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
    }
}

/// The secret of one login attempt, RFC 7636. Kept in memory and sent to the token endpoint only. Prints as `****`.
public struct CodeVerifier: Sendable, CustomStringConvertible, CustomReflectable {
    /// 43 to 128 characters, §4.1.
    public let text: String

    /// 32 random octets as 43 characters.
    public init() {
        text = RandomText.make()
    }

    /// nil unless `text` has 43 to 128 unreserved characters.
    public init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(\.isUnreserved) else { return nil }
        self.text = text
    }

    /// `code_challenge` for the method S256, §4.2.
    public var challenge: String {
        Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    public var description: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Values that nobody can guess.
enum RandomText {
    /// 32 octets of the system's generator as 43 base64url characters.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        var octets: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: generator.next() as UInt64) { octets.append(contentsOf: $0) } }
        return Base64URL.encode(octets)
    }
}
