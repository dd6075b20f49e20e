/// Names of token-endpoint parameters, exactly as they travel.
public enum Parameter {
    // RFC 6749
    public static let grantType = "grant_type"
    public static let clientID = "client_id"
    public static let clientSecret = "client_secret"
    public static let scope = "scope"
    public static let refreshToken = "refresh_token"
    public static let code = "code"
    public static let redirectURI = "redirect_uri"
    public static let username = "username"
    public static let password = "password"
    // RFC 7636
    public static let codeVerifier = "code_verifier"
    // RFC 7009
    public static let token = "token"
    public static let tokenTypeHint = "token_type_hint"
    // RFC 7521
    public static let assertion = "assertion"
    public static let clientAssertion = "client_assertion"
    public static let clientAssertionType = "client_assertion_type"
    // RFC 8693
    public static let audience = "audience"
    public static let resource = "resource"
    public static let requestedTokenType = "requested_token_type"
    public static let subjectToken = "subject_token"
    public static let subjectTokenType = "subject_token_type"
    public static let actorToken = "actor_token"
    public static let actorTokenType = "actor_token_type"
    // Native SSO: the 2018 profile, draft 07
    public static let deviceID = "device_id"
    public static let deviceSecret = "device_secret"
    // OpenID Connect Back-Channel Logout 1.0
    public static let logoutToken = "logout_token"
}
