import HTTPTypes
import Hummingbird
import TokenVerifier

/// The challenges of RFC 6750 §3. All information is in the header; bodies are empty.
struct BearerChallenge: Sendable {
    private let realm: String

    /// - Parameter realm: Shown to clients; characters that a quoted string cannot contain are removed.
    init(realm: String) {
        self.realm = Self.quotable(realm)
    }

    /// No credentials: no error code, to reveal nothing (§3.1).
    var credentialsMissing: Response {
        response(.unauthorized, [])
    }

    /// The header field violates §2.1, or is repeated.
    var malformedRequest: Response {
        response(.badRequest, [("error", "invalid_request")])
    }

    func refusal(_ error: VerificationError, requiredScope: [String]) -> Response {
        switch error.code {
        case .keysUnavailable, .endedSessionsUnknown:
            Response(status: .serviceUnavailable, headers: [.retryAfter: "5", .cacheControl: "no-store"])
        case .insufficientScope:
            response(
                .forbidden,
                [("error", "insufficient_scope"), ("scope", Self.quotable(requiredScope.joined(separator: " ")))])
        case .expired:
            response(.unauthorized, [("error", "invalid_token"), ("error_description", "The access token expired")])
        case .sessionEnded:
            response(.unauthorized, [("error", "invalid_token"), ("error_description", "The session ended")])
        default:
            response(.unauthorized, [("error", "invalid_token")])
        }
    }

    private func response(_ status: HTTPResponse.Status, _ parameters: [(name: String, value: String)]) -> Response {
        let challenge = ([("realm", realm)] + parameters).map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ", ")
        return Response(
            status: status, headers: [.wwwAuthenticate: "Bearer " + challenge, .cacheControl: "no-store"])
    }

    private static func quotable(_ text: String) -> String {
        String(decoding: text.utf8.filter { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }, as: UTF8.self)
    }
}
