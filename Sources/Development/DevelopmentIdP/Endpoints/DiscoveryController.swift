import Hummingbird
import JOSE
import StrictCoding

/// `GET /.well-known/openid-configuration` (OpenID Connect Discovery 1.0 §4) and the JWK Set.
struct DiscoveryController: Sendable {
    let provider: Provider

    func metadata(_ request: Request, _ context: some RequestContext) -> Response {
        let issuer = provider.configuration.issuer
        return .json(cache: .publicly(seconds: 300)) { json in
            json.member("issuer", issuer)
            json.member("authorization_endpoint", issuer + "/authorize")
            json.member("token_endpoint", issuer + "/token")
            json.member("userinfo_endpoint", issuer + "/userinfo")
            json.member("end_session_endpoint", issuer + "/logout")
            json.member("jwks_uri", issuer + "/.well-known/jwks.json")
            json.member("scopes_supported", provider.supportedScopes)
            json.member("response_types_supported", ["code"])
            json.member("response_modes_supported", ["query"])
            json.member("grant_types_supported", ["authorization_code", "refresh_token"])
            json.member("prompt_values_supported", ["none", "login", "consent"])
            json.member("subject_types_supported", ["public"])
            json.member("acr_values_supported", Authentication.ContextClass.allCases.map(\.rawValue))
            json.member("id_token_signing_alg_values_supported", [provider.signingKeys.current.algorithm.rawValue])
            json.member("token_endpoint_auth_methods_supported", ["none", "client_secret_basic"])
            json.member("code_challenge_methods_supported", ["S256"])
            json.member("claims_supported", claims)
            json.member("request_uri_parameter_supported", false)  // its default is true
            json.member("authorization_response_iss_parameter_supported", true)  // RFC 9207 §3
            json.member("backchannel_logout_supported", true)
            json.member("backchannel_logout_session_supported", provider.configuration.mode == .stamping)
            if provider.configuration.mode == .stamping { json.member("native_sso_supported", true) }
        }
    }

    func keys(_ request: Request, _ context: some RequestContext) -> Response {
        .json(cache: .publicly(seconds: 300)) { json in
            json.member(
                "keys", array: { json in for key in provider.signingKeys.published { json.value(.object(key.json)) } })
        }
    }

    private var claims: [String] {
        ["iss", "sub", "aud", "iat", "exp", "auth_time", "acr", "amr", "nonce", "at_hash", "name", "email", "roles"]
            + (provider.configuration.mode == .stamping ? ["sid", "di_hash", "ds_hash"] : [])
    }
}
