import HTTPTypes
import Hummingbird
import OAuthWire

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
