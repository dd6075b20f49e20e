import HTTPTypes
import Hummingbird
import StrictCoding

/// `GET` and `POST /userinfo`: OpenID Connect Core §5.3, with a bearer token in the header (RFC 6750 §2.1).
struct UserInfoController: Sendable {
    let provider: Provider

    func userInfo(_ request: Request, _ context: some RequestContext) async -> Response {
        guard let authorization = request.headers[.authorization] else {
            // RFC 6750 §3.1: no error code where no token was sent.
            return refuse("Bearer realm=\"development-idp\"")
        }
        let scheme = "bearer "
        guard authorization.prefix(scheme.count).lowercased() == scheme,
            let (subject, scope) = await provider.state.access(
                token: String(authorization.dropFirst(scheme.count)), at: provider.now()),
            let user = provider.users.user(subject: subject)
        else { return refuse("Bearer realm=\"development-idp\", error=\"invalid_token\"") }
        return .json { json in
            json.member("sub", user.subject)
            if scope.contains("profile") {
                json.member("name", user.name)
                json.member("preferred_username", user.username)
            }
            if scope.contains("email") { json.member("email", user.email) }
        }
    }

    private func refuse(_ challenge: String) -> Response {
        .json(.unauthorized, headers: [.wwwAuthenticate: challenge]) { _ in }
    }
}
