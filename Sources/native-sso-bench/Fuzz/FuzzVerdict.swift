import OAuthWire
import StrictCoding

/// What every answer must be, whatever was asked.
enum FuzzVerdict {
    /// Why an answer breaks the contract; `nil`: it does not.
    static func fault(of answer: FuzzAnswer, to request: FuzzedRequest) -> String? {
        if answer.status == 100 { return request.isFramed ? "an interim answer that nobody asked for" : nil }
        for (name, value) in required where answer.value(name) != value { return "\(name) is not \(value)" }
        guard answer.value("date") != nil else { return "no date" }
        guard let id = answer.value("x-request-id"), id.utf8.count == 36, id.utf8.allSatisfy(isOfID) else {
            return "no x-request-id"
        }
        guard !answer.body.isEmpty || request.isFramed else { return nil }  // HEAD, by a mutation
        guard let body = try? JSONReader.parse(answer.body).object else { return "a body that is no JSON object" }
        return answer.status == 200 ? fault(ofGrant: body, to: request) : fault(ofRefusal: body, answer)
    }

    /// RFC 6749 §5.1.
    private static func fault(ofGrant body: JSONObject, to request: FuzzedRequest) -> String? {
        if request.mustBeRefused { return "granted, though something in it was never signed" }
        guard body.string("access_token")?.hasPrefix("ey") == true, body.string("token_type") == "Bearer",
            let seconds = body.number("expires_in")?.int64, seconds > 0, body.string("scope")?.isEmpty == false,
            body.string("error") == nil
        else { return "a grant that lacks something" }
        return nil
    }

    /// RFC 6749 §5.2: a known error under its own status, in words of ours, and nothing beside it.
    private static func fault(ofRefusal body: JSONObject, _ answer: FuzzAnswer) -> String? {
        guard let name = body.string("error"), let error = OAuthErrorCode(rawValue: name) else {
            return "no known error"
        }
        guard statuses(of: error).contains(answer.status) else { return "\(name) under \(answer.status)" }
        guard let description = body.string("error_description"),
            description.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return "no description" }
        let forUser = error == .interactionRequired ? ["acr_values", "max_age", "authorization_uri"] : []
        let others = body.names.filter { !(["error", "error_description"] + forUser).contains($0) }
        guard others.isEmpty else { return "\(others) beside the error" }
        if answer.status == 401, answer.value("www-authenticate") == nil { return "401 without a challenge" }
        if answer.status == 405, answer.value("allow") != "POST" { return "405 without Allow" }
        return nil
    }

    /// No 5xx among them: nothing here is away, and nothing that a caller sends may break anything.
    private static func statuses(of error: OAuthErrorCode) -> [Int] {
        switch error {
        case .invalidRequest: [400, 404, 405, 408, 413, 414, 417, 431]
        case .invalidClient: [400, 401]
        case .temporarilyUnavailable, .serverError: []
        default: [400]
        }
    }

    private static let required = [
        ("content-type", "application/json"), ("cache-control", "no-store"), ("pragma", "no-cache"),
        ("x-content-type-options", "nosniff"),
    ]

    private static func isOfID(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || (0x61...0x66).contains(octet) || octet == UInt8(ascii: "-")
    }
}
