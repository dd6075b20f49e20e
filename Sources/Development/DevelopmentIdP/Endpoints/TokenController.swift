import HTTPTypes
import Hummingbird
import OAuthWire
import StrictCoding

/// `POST /token`: OpenID Connect Core §3.1.3 and §12.
struct TokenController: Sendable {
    let provider: Provider

    func token(_ request: Request, _ context: some RequestContext) async -> Response {
        do throws(TokenError) {
            let form = try await form(of: request)
            let client = try provider.client(of: request, form)
            guard let grantType = form[Parameter.grantType] else {
                throw TokenError(.invalidRequest, "grant_type is missing")
            }
            return switch GrantType(rawValue: grantType) {
            case .authorizationCode: try await redeemCode(form, client)
            case .refreshToken: try await refresh(form, client)
            case .tokenExchange, nil: throw TokenError(.unsupportedGrantType, "authorization_code or refresh_token")
            }
        } catch {
            return error.response
        }
    }

    private func form(of request: Request) async throws(TokenError) -> FormParameters {
        do throws(FormError) {
            if let form = try await request.formParameters() { return form }
        } catch {}
        throw TokenError(.invalidRequest, "the form is malformed")
    }

    private func redeemCode(_ form: FormParameters, _ client: RegisteredClient) async throws(TokenError) -> Response {
        guard let code = form[Parameter.code] else { throw TokenError(.invalidRequest, "code is missing") }
        guard let redirectURI = form[Parameter.redirectURI] else {
            throw TokenError(.invalidRequest, "redirect_uri is missing")
        }
        let redemption = CodeRedemption(
            code: code, clientID: client.id, redirectURI: redirectURI,
            // Every code here was asked for with a challenge, so a missing verifier is a wrong one (RFC 7636 §4.6).
            verifier: form[Parameter.codeVerifier] ?? "", device: try device(form))
        let now = provider.now()
        do throws(GrantRefusal) {
            let (grant, request) = try await provider.state.redeem(redemption, at: now)
            let age = request.issuesExpired.contains(.accessToken) ? provider.configuration.lifetimes.accessToken : 0
            return await answer(grant, scope: grant.scope, nonce: request.nonce, form, at: now, accessTokenAge: age)
        } catch {
            throw TokenError(.invalidGrant, "the code cannot be used")
        }
    }

    private func refresh(_ form: FormParameters, _ client: RegisteredClient) async throws(TokenError) -> Response {
        guard let token = form[Parameter.refreshToken] else {
            throw TokenError(.invalidRequest, "refresh_token is missing")
        }
        var requested: ScopeTokens?
        if let text = form[Parameter.scope] {
            guard let scope = ScopeTokens(text) else { throw TokenError(.invalidScope, "scope is malformed") }
            requested = scope
        }
        let now = provider.now()
        let grant: Grant
        do throws(GrantRefusal) {
            grant = try await provider.state.refresh(token, clientID: client.id, scope: requested?.tokens, at: now)
        } catch {
            throw error == .scopeExceeded
                ? TokenError(.invalidScope, "more than was granted")
                : TokenError(.invalidGrant, "the refresh token cannot be used")
        }
        return await answer(grant, scope: requested?.tokens ?? grant.scope, nonce: nil, form, at: now)
    }

    /// The `device_id` of the 2018 profile, where this provider takes it.
    private func device(_ form: FormParameters) throws(TokenError) -> DeviceIdentifier? {
        guard provider.configuration.mode == .stamping, let text = form[Parameter.deviceID] else { return nil }
        guard let device = DeviceIdentifier(text) else {
            throw TokenError(.invalidRequest, "device_id has 22 to 512 printable ASCII characters")
        }
        return device
    }

    private func answer(
        _ grant: Grant, scope: [String], nonce: String?, _ form: FormParameters, at now: Int64,
        accessTokenAge: Int64 = 0
    ) async -> Response {
        guard let user = provider.users.user(subject: grant.subject),
            let access = try? AccessToken(grant: grant, user: user, scope: scope, issuedAt: now - accessTokenAge)
                .signed(by: provider)
        else { return TokenError(.serverError, "signing failed").response }
        let refresh = await provider.state.issueTokens(
            access, under: grant, scope: scope, issuedAt: now - accessTokenAge)
        // The scope was filtered when it was granted: device_sso is in it only where this provider knows Native SSO.
        let deviceSecret =
            grant.scope.contains("device_sso")
            ? await provider.state.deviceSecret(presented: form[Parameter.deviceSecret], subject: grant.subject) : nil
        let idToken = IDToken(
            grant: grant, user: user, nonce: nonce, accessToken: access, deviceSecret: deviceSecret, issuedAt: now)
        guard let signed = try? idToken.signed(by: provider) else {
            return TokenError(.serverError, "signing failed").response
        }
        return .json { json in
            json.member("access_token", access)
            json.member("token_type", TokenType.bearer.rawValue)
            json.member("expires_in", provider.configuration.lifetimes.accessToken)
            if let refresh { json.member("refresh_token", refresh) }
            json.member("scope", scope.joined(separator: " "))
            json.member("id_token", signed)
            if let deviceSecret { json.member("device_secret", deviceSecret) }
        }
    }
}

/// A refusal of the token endpoint, RFC 6749 §5.2.
struct TokenError: Error, Sendable {
    let body: OAuthErrorResponse
    let status: HTTPResponse.Status

    init(_ code: OAuthErrorCode, _ description: StaticString) {
        body = OAuthErrorResponse(code, description)
        status = code == .serverError ? .internalServerError : .badRequest
    }

    /// The client tried HTTP Basic and failed: 401 and a challenge.
    static let basicAuthenticationFailed = TokenError(
        body: OAuthErrorResponse(.invalidClient, "client authentication failed"), status: .unauthorized)

    private init(body: OAuthErrorResponse, status: HTTPResponse.Status) {
        self.body = body
        self.status = status
    }

    var response: Response {
        let challenge = "Basic realm=\"development-idp\", charset=\"UTF-8\""
        return .json(status, headers: status == .unauthorized ? [.wwwAuthenticate: challenge] : [:], body: body.json)
    }
}
