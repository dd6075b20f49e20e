import OAuthWire
import StrictCoding

/// What every answer must be, whatever was asked.
enum FuzzVerdict {
    /// Why an answer breaks the contract; `nil`: it does not.
    static func fault(of answer: FuzzAnswer, to request: FuzzedRequest) -> String? {
        if answer.status == 100 { return request.door.isLone ? nil : "an interim answer that no request asked for" }
        for (name, value) in required where answer.value(name) != value { return "\(name) is not \(value)" }
        guard answer.value("date") != nil else { return "no date" }
        guard let id = answer.value("x-request-id"), id.utf8.count == 36, id.utf8.allSatisfy(isOfID) else {
            return "no x-request-id"
        }
        guard !answer.body.isEmpty || !request.door.isLone else { return nil }  // HEAD, by a mutation
        guard let body = try? JSONReader.parse(answer.body).object else { return "a body that is no JSON object" }
        guard answer.status == 200 else {
            // What was sent twice, because the first connection ended, may have been used up.
            if request.expects.mustSucceed, request.attempts == 0 { return "refused, though nothing in it is bent" }
            let isRepeated = request.expects.mustBeRefused || request.attempts > 0
            if request.expects.mayBeInFlight, isRepeated, answer.status == 503,
                body.string("error") == "temporarily_unavailable"
            {
                return answer.value("retry-after") == nil ? "503 without Retry-After" : nil
            }
            return fault(ofRefusal: body, answer, at: request.door)
        }
        if request.expects.mustBeRefused { return "granted, though something in it was never signed, proved or given" }
        return request.door == .internal ? nil : fault(ofGrant: body, to: request.expects)
    }

    /// RFC 6749 §5.1, and whose it is.
    private static func fault(ofGrant body: JSONObject, to request: FuzzedRequest.Expectation) -> String? {
        guard let token = body.string("access_token"), let seconds = body.number("expires_in")?.int64, seconds > 0,
            !body.contains("error"), let name = body.string("token_type")
        else { return "a grant that lacks something" }
        let isEnrolment = name == "N_A" || token == FuzzProvider.accessToken
        guard let claims = claims(of: isEnrolment ? body.string("id_token") : token) else {
            return "a malformed token"
        }
        guard let subject = claims.string("sub"), request.subjects.contains(subject) else {
            return "a token for somebody who has not logged in"
        }
        guard claims.string("iss") == BrokerCommands.issuer else { return "a token of another issuer" }
        // RFC 8693 §2.2.1: the id_token is the token. By code, the identity provider's is handed on.
        if isEnrolment { return name == "Bearer" || body.string("id_token") == token ? nil : "two tokens for one" }
        guard body.string("scope")?.isEmpty == false else { return "a grant without scope" }
        return fault(ofKey: claims, name, request) ?? fault(ofClient: claims, request)
    }

    /// RFC 9449 §5 and §6.
    private static func fault(ofKey claims: JSONObject, _ type: String, _ request: FuzzedRequest.Expectation) -> String?
    {
        let key = claims.object("cnf")?.string("jkt")
        switch type {
        case "DPoP": return key != nil && key == request.provenKey ? nil : "bound to a key that was not proved"
        case "Bearer" where request.mustBeBound || claims.string("client_id") == SampleApps.proving:
            return "not bound to a key"
        case "Bearer": return claims.contains("cnf") ? "bound to a key, and said to be nobody's" : nil
        default: return "a token of type \(type)"
        }
    }

    private static func fault(ofClient claims: JSONObject, _ request: FuzzedRequest.Expectation) -> String? {
        guard let client = claims.string("client_id") else { return "a token for no client" }
        let mustProve = [FuzzMaterial.signer, FuzzMaterial.confidential].contains(client)
        return mustProve && client != request.provenClient ? "a token for a client that did not prove itself" : nil
    }

    /// What a token says; whether it is signed well is not looked at.
    private static func claims(of token: String?) -> JSONObject? {
        let parts = token?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return nil }
        return try? JSONReader.parse(payload).object
    }

    /// RFC 6749 §5.2: a known error under its own status, in words of ours, and nothing beside it.
    private static func fault(ofRefusal body: JSONObject, _ answer: FuzzAnswer, at door: FuzzDoor) -> String? {
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
        let allowed = door == .internal ? ["POST", "GET", "GET, POST"] : ["POST"]
        if answer.status == 405, !allowed.contains(answer.value("allow") ?? "") { return "405 without Allow" }
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
