package import NativeSSO
package import OAuthWire

/// Redeems codes at the IdPs' token endpoints, with the app's client id.
package struct ProviderCodeRelay: CodeRelay {
    package struct Provider: Sendable {
        package let keys: ProviderKeys
        /// From the configuration; `nil`: from the discovery document.
        package let tokenEndpoint: ProviderURL?
        /// From the configuration; `nil`: from the discovery document.
        package let revocationEndpoint: ProviderURL?
        /// `nil`: its apps are public clients.
        package let secret: ClientSecret?
        /// Of apps with a secret of their own; it replaces the common one.
        package let secrets: [ClientID: ClientSecret]
        package let timeout: Duration
        let http: TokenEndpointClient

        package init(
            keys: ProviderKeys, tokenEndpoint: ProviderURL?, revocationEndpoint: ProviderURL? = nil,
            secret: ClientSecret?, secrets: [ClientID: ClientSecret] = [:], timeout: Duration,
            over http: TokenEndpointClient
        ) {
            self.keys = keys
            self.tokenEndpoint = tokenEndpoint
            self.revocationEndpoint = revocationEndpoint
            self.secret = secret
            self.secrets = secrets
            self.timeout = timeout
            self.http = http
        }

        func secret(of client: ClientID) -> ClientSecret? { secrets[client] ?? secret }
    }

    /// The client authentication of the apps at the IdP. RFC 6749 §2.3.1.
    package struct ClientSecret: Sendable {
        package enum Method: String, Sendable, CaseIterable {
            case basic = "client_secret_basic"
            case post = "client_secret_post"
        }

        package let value: Credential
        package let method: Method

        package init(_ value: Credential, by method: Method) {
            self.value = value
            self.method = method
        }
    }

    private let providers: [Issuer: Provider]

    package init(_ providers: [Provider]) {
        self.providers = Dictionary(providers.map { ($0.keys.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package func redeem(
        _ code: PresentedCode, of client: ClientID, at issuer: Issuer
    ) async throws(CodeRelayError) -> ProviderTokens {
        guard let provider = providers[issuer], let url = provider.tokenEndpoint ?? provider.keys.endpoints.token else {
            throw .notAsked(.endpointUnknown)
        }
        // Built only from the parsed values: nothing else from the app is forwarded.
        let request = Self.request(
            [
                (name: Parameter.grantType, value: GrantType.authorizationCode.rawValue),
                (name: Parameter.code, value: code.code),
                (name: Parameter.redirectURI, value: code.redirectURI),
                (name: Parameter.codeVerifier, value: code.verifier),
            ], client, provider.secret(of: client))
        let answer = try await provider.http.post(request, to: url, within: provider.timeout)
        return try answer.tokens()
    }

    package func revoke(_ refreshToken: String, of client: ClientID, at issuer: Issuer) async -> RevocationOutcome {
        guard let provider = providers[issuer],
            let url = provider.revocationEndpoint ?? provider.keys.endpoints.revocation
        else { return .endpointUnknown }
        let request = Self.request(
            [
                (name: Parameter.token, value: refreshToken),
                (name: Parameter.tokenTypeHint, value: Parameter.refreshToken),
            ], client, provider.secret(of: client))
        do throws(CodeRelayError) {
            let answer = try await provider.http.post(request, to: url, within: provider.timeout)
            // RFC 7009 §2.2: 200 also for an unknown token.
            return switch answer.status {
            case 200: .revoked
            case 400..<500: .refused
            default: .failed
            }
        } catch {
            return .failed
        }
    }

    private static func request(
        _ parameters: [(name: String, value: String)], _ client: ClientID, _ secret: ClientSecret?
    ) -> TokenEndpointRequest {
        var form = parameters
        var authorization: String?
        switch secret?.method {
        case nil: form.append((name: Parameter.clientID, value: client.string))
        case .post:
            form.append((name: Parameter.clientID, value: client.string))
            form.append((name: Parameter.clientSecret, value: secret?.value.secret ?? ""))
        case .basic:
            authorization =
                BasicCredentials(clientID: client.string, clientSecret: secret?.value).headerValue
        }
        return TokenEndpointRequest(body: FormEncoder.encode(form), authorization: authorization)
    }
}
