import HTTPTypes
import Hummingbird
import JOSE
import TokenVerifier

/// The challenges of RFC 6750 §3 and RFC 9449 §7.1. All information is in the header; bodies are empty.
struct BearerChallenge: Sendable {
    private let realm: String
    private let takesBearer: Bool
    private let takesProofs: Bool

    /// - Parameter realm: Shown to clients; characters that a quoted string cannot contain are removed.
    init(realm: String, takes proofs: ProofPolicy? = nil) {
        self.realm = Self.quotable(realm)
        takesBearer = proofs?.isRequired != true
        takesProofs = proofs != nil
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
        case .keysUnavailable, .tooManyProofs:
            Response(status: .serviceUnavailable, headers: [.retryAfter: "5", .cacheControl: "no-store"])
        case .insufficientScope:
            response(
                .forbidden,
                [("error", "insufficient_scope"), ("scope", Self.quotable(requiredScope.joined(separator: " ")))])
        case .expired:
            response(.unauthorized, [("error", "invalid_token"), ("error_description", "The access token expired")])
        case .invalidProof, .usedProof:
            response(.unauthorized, [("error", "invalid_dpop_proof")])
        default:
            response(.unauthorized, [("error", "invalid_token")])
        }
    }

    private func response(_ status: HTTPResponse.Status, _ parameters: [(name: String, value: String)]) -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store"]
        let all = [("realm", realm)] + parameters
        if takesBearer { headers.append(HTTPField(name: .wwwAuthenticate, value: Self.challenge("Bearer", all))) }
        if takesProofs {
            headers.append(
                HTTPField(name: .wwwAuthenticate, value: Self.challenge("DPoP", all + [("algs", Self.algorithms)])))
        }
        return Response(status: status, headers: headers)
    }

    private static let algorithms = DPoPProof.algorithms.map(\.rawValue).sorted().joined(separator: " ")

    private static func challenge(_ scheme: String, _ parameters: [(name: String, value: String)]) -> String {
        scheme + " " + parameters.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ", ")
    }

    private static func quotable(_ text: String) -> String {
        String(decoding: text.utf8.filter { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }, as: UTF8.self)
    }
}
