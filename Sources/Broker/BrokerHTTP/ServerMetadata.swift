import JOSE
package import NativeSSO
import OAuthWire
import StrictCoding

/// The broker's metadata for apps and resource servers. RFC 8414 §2, OpenID Connect Discovery §3, Native SSO §5.
///
/// Users log in at an IdP. Its authorization endpoint stands here where the broker redeems its codes, for clients that know
/// one server only. Otherwise there is none, and `response_types_supported` is `none`, the registered value that promises
/// nothing. RFC 8414 §3.2 forbids an empty list, and Authlib and idpyoidc refuse it.
package struct ServerMetadata: Sendable {
    package var issuer: Issuer
    /// The URL of `POST /token`, as apps see it.
    package var tokenEndpoint: String
    /// The URL of the key set, as resource servers see it.
    package var keySetURI: String
    /// `alg` values of the broker's signatures.
    package var signingAlgorithms: [String]
    /// Scopes that clients may get. `openid` is always among `scopes_supported`.
    package var scopes = Scope.empty
    /// An identity provider's; `nil`: none.
    package var authorizationEndpoint: String?
    /// Whether the broker redeems codes of an identity provider.
    package var relaysCodes: Bool
    /// `nil`: there is no such endpoint.
    package var revocationEndpoint: String?
    package var introspectionEndpoint: String?
    package var globalTokenRevocationEndpoint: String?

    package init(
        issuer: Issuer, tokenEndpoint: String, keySetURI: String, signingAlgorithms: [String],
        relaysCodes: Bool = false, revocationEndpoint: String? = nil, introspectionEndpoint: String? = nil,
        globalTokenRevocationEndpoint: String? = nil
    ) {
        self.issuer = issuer
        self.tokenEndpoint = tokenEndpoint
        self.keySetURI = keySetURI
        self.signingAlgorithms = signingAlgorithms
        self.relaysCodes = relaysCodes
        self.revocationEndpoint = revocationEndpoint
        self.introspectionEndpoint = introspectionEndpoint
        self.globalTokenRevocationEndpoint = globalTokenRevocationEndpoint
    }

    package var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { json in
            json.member("issuer", issuer.string)
            if let authorizationEndpoint { json.member("authorization_endpoint", authorizationEndpoint) }
            json.member("token_endpoint", tokenEndpoint)
            json.member("jwks_uri", keySetURI)
            json.member("response_types_supported", authorizationEndpoint == nil ? ["none"] : ["code"])
            if authorizationEndpoint != nil { json.member("code_challenge_methods_supported", ["S256"]) }
            json.member(
                "grant_types_supported",
                Client.Grant.allCases.map(\.rawValue) + (relaysCodes ? [GrantType.authorizationCode.rawValue] : []))
            json.authentication(at: "token_endpoint", Client.Authentication.allCases)
            if let revocationEndpoint {
                json.member("revocation_endpoint", revocationEndpoint)
                json.authentication(at: "revocation_endpoint", Client.Authentication.allCases)
            }
            if let introspectionEndpoint {
                json.member("introspection_endpoint", introspectionEndpoint)
                json.authentication(
                    at: "introspection_endpoint", Client.Authentication.allCases.filter { $0 != .none })
            }
            if let globalTokenRevocationEndpoint {
                // draft-parecki-oauth-global-token-revocation §6. A JWT of §3.5 is the method private_key_jwt there.
                json.member("global_token_revocation_endpoint", globalTokenRevocationEndpoint)
                json.member(
                    "global_token_revocation_endpoint_auth_methods_supported",
                    [Client.Authentication.privateKeyJWT.rawValue])
            }
            json.member("dpop_signing_alg_values_supported", DPoPProof.algorithms.map(\.rawValue).sorted())
            json.member("scopes_supported", Scope(["openid"] + scopes.tokens).tokens)
            json.member("subject_types_supported", ["public"])
            json.member("id_token_signing_alg_values_supported", signingAlgorithms)
            json.member("native_sso_supported", true)
        }
        return json.bytes
    }
}

extension JSONWriter {
    /// How clients authenticate at an endpoint. RFC 8414 §2.
    fileprivate mutating func authentication(at endpoint: String, _ methods: [Client.Authentication]) {
        member("\(endpoint)_auth_methods_supported", methods.map(\.rawValue))
        if methods.contains(.privateKeyJWT) {
            member(
                "\(endpoint)_auth_signing_alg_values_supported", AssertionSignature.algorithms.map(\.rawValue).sorted())
        }
    }
}
