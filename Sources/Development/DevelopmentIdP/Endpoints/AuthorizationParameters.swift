import OAuthWire
import StrictCoding

/// The parameters of an authorization request, checked: OpenID Connect Core §3.1.2.1, RFC 7636 §4.3.
struct AuthorizationParameters {
    let request: AuthorizationRequest
    /// `prompt=none`: no page may be shown.
    let isSilent: Bool
    /// `prompt=login`: a session is not enough.
    let promptsLogin: Bool
    /// The login may be at most this many seconds old.
    let maximumAge: Int64?
    /// A user name to begin with.
    let loginHint: String

    init(_ parameters: FormParameters, provider: Provider) throws(AuthorizationError) {
        guard let clientID = parameters[Parameter.clientID], let client = provider.configuration.client(clientID) else {
            throw .page("This app is not registered here.")
        }
        guard let redirectURI = parameters[Parameter.redirectURI],
            client.redirectURIs.contains(where: { $0.allows(redirectURI) })
        else { throw .page("The app asked to return to an address that is not registered for it.") }

        let state = parameters["state"]
        func refuse(_ code: AuthorizationError.Code, _ description: String) -> AuthorizationError {
            .redirect(to: redirectURI, state: state, code, description)
        }
        guard parameters["request"] == nil else { throw refuse(.requestNotSupported, "request objects are not taken") }
        guard parameters["request_uri"] == nil else {
            throw refuse(.requestURINotSupported, "request objects are not taken")
        }
        guard let responseType = parameters["response_type"] else {
            throw refuse(.invalidRequest, "response_type is missing")
        }
        guard responseType == "code" else { throw refuse(.unsupportedResponseType, "the response type is code") }
        guard (parameters["response_mode"] ?? "query") == "query" else {
            throw refuse(.invalidRequest, "the response mode is query")
        }
        // RFC 7636 §4.3: the default method is `plain`, which does not stop an attacker who saw this request.
        guard parameters["code_challenge_method"] == "S256" else {
            throw refuse(.invalidRequest, "code_challenge_method must be S256")
        }
        guard let challenge = parameters["code_challenge"].flatMap(CodeChallenge.init) else {
            throw refuse(.invalidRequest, "code_challenge must be a SHA-256 digest in base64url")
        }
        guard let scope = parameters[Parameter.scope].flatMap(ScopeTokens.init)?.tokens, scope.contains("openid") else {
            throw refuse(.invalidScope, "scope must contain openid")
        }

        let prompts = Set((parameters["prompt"] ?? "").split(separator: " ").map(String.init))
        guard prompts.isSubset(of: ["none", "login", "consent", "select_account"]),
            !prompts.contains("none") || prompts.count == 1
        else { throw refuse(.invalidRequest, "prompt is none alone, or login, consent or both") }
        isSilent = prompts.contains("none")
        promptsLogin = prompts.contains("login")
        if let text = parameters["max_age"] {
            guard let age = Int64(text), age >= 0 else {
                throw refuse(.invalidRequest, "max_age is no number of seconds")
            }
            maximumAge = age
        } else {
            maximumAge = nil
        }
        loginHint = parameters["login_hint"] ?? ""
        let expired = (parameters["issue_expired"] ?? "").split(separator: " ")
            .map { AuthorizationRequest.Expirable(rawValue: String($0)) }
        guard !expired.contains(nil) else {
            throw refuse(.invalidRequest, "issue_expired is access_token, refresh_token or both")
        }
        request = AuthorizationRequest(
            clientID: client.id, redirectURI: redirectURI, scope: scope.filter(provider.supportedScopes.contains),
            state: state, nonce: parameters["nonce"], challenge: challenge,
            contextClass: (parameters["acr_values"] ?? "").split(separator: " ")
                .compactMap { Authentication.ContextClass(rawValue: String($0)) }.first,
            promptsConsent: prompts.contains("consent"), issuesExpired: Set(expired.compactMap { $0 }))
    }

    /// Whether `session` spares the user another login.
    func isSatisfied(by session: LoginSession, at now: Int64) -> Bool {
        guard !promptsLogin else { return false }
        guard let maximumAge else { return true }
        return now - session.authentication.at <= maximumAge
    }
}
