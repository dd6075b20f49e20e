import OAuthWire
import StrictCoding

/// The rules for every answer of the broker. The fuzzer and the tests share them.
package enum AnswerContract {
    /// The body of every refusal that depends on the state of a login: one text for all reasons.
    package static let unusableBody =
        #"{"error":"invalid_grant","error_description":"The presented token or device value cannot be used."}"#

    /// Why an answer breaks the contract; `nil` if it keeps it.
    /// - Parameters:
    ///   - isHead: It answers a HEAD request, and has no body.
    ///   - mayBeUnavailable: Something may be down, in use or asked for too often. Otherwise an outage breaks the contract.
    package static func fault(of answer: HTTPAnswer, isHead: Bool = false, mayBeUnavailable: Bool = false) -> String? {
        for (name, value) in required where answer[name] != value { return "\(name) is not \(value)" }
        guard answer["Date"] != nil else { return "no Date" }
        guard let id = answer["X-Request-Id"], id.utf8.count == 36, id.utf8.allSatisfy(isOfID) else {
            return "no X-Request-Id"
        }
        if isHead { return answer.body.isEmpty ? nil : "a body for HEAD" }
        guard let body = answer.json else { return "a body that is no JSON object" }
        return answer.status == 200 ? nil : fault(ofRefusal: body, answer, mayBeUnavailable)
    }

    /// RFC 6749 §5.2: a known error under its own status, in words of ours, and nothing beside it.
    private static func fault(ofRefusal body: JSONObject, _ answer: HTTPAnswer, _ mayBeUnavailable: Bool) -> String? {
        guard let name = body.string("error"), let error = OAuthErrorCode(rawValue: name) else {
            return "no known error"
        }
        guard statuses(of: error, mayBeUnavailable).contains(answer.status) else {
            return "\(name) under \(answer.status)"
        }
        guard let description = body.string("error_description"),
            description.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return "no description" }
        // Native SSO §4.4: what the user can do about it.
        let forUser = error == .interactionRequired ? ["acr_values", "max_age", "authorization_uri"] : []
        let others = body.names.filter { !(["error", "error_description"] + forUser).contains($0) }
        guard others.isEmpty else { return "\(others) beside the error" }
        if error == .invalidGrant, answer.text != unusableBody { return "a refusal that says more than others" }
        if error == .temporarilyUnavailable, answer["Retry-After"] == nil { return "\(name) without Retry-After" }
        if answer.status == 401, answer["WWW-Authenticate"] == nil { return "401 without a challenge" }
        if answer.status == 405, !["POST", "GET", "GET, POST"].contains(answer["Allow"] ?? "") {
            return "405 without Allow"
        }
        return nil
    }

    private static func statuses(of error: OAuthErrorCode, _ mayBeUnavailable: Bool) -> [Int] {
        switch error {
        case .invalidRequest: [400, 404, 405, 408, 413, 414, 417, 431]
        case .invalidClient: [400, 401]
        // A logout has no other status for it: OpenID Connect Back-Channel Logout §2.8.
        case .temporarilyUnavailable: mayBeUnavailable ? [503, 429, 400] : []
        // Nothing that a caller sends may break anything.
        case .serverError: []
        default: [400]
        }
    }

    private static let required = [
        ("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("Pragma", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
    ]

    private static func isOfID(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || (0x61...0x66).contains(octet) || octet == UInt8(ascii: "-")
    }
}

extension HTTPAnswer {
    /// Whether it keeps the contract, while something may be down.
    package var keepsContract: Bool { AnswerContract.fault(of: self, mayBeUnavailable: true) == nil }
}
