import BrokerHarness
import StrictCoding

/// What every answer must be, whatever was asked: the contract, and that it grants only what was proved.
enum FuzzVerdict {
    /// Why an answer is wrong; `nil`: it is not.
    static func fault(of answer: HTTPAnswer, to request: FuzzedRequest) -> String? {
        let expects = request.expects
        if answer.status == 100 {
            return request.transport.isLone ? nil : "an interim answer that no request asked for"
        }
        // By a mutation, a lone request may be HEAD.
        let isHead = answer.body.isEmpty && request.transport.isLone
        // What was sent twice, because the first connection ended, may have been used up.
        let isRepeated = expects.mustBeRefused || request.attempts > 0
        let mayBeUnavailable =
            answer.status == 503 && isRepeated && expects.mayBeInFlight || answer.isUndecided && !expects.mustSucceed
        if let fault = AnswerContract.fault(of: answer, isHead: isHead, mayBeUnavailable: mayBeUnavailable) {
            return fault
        }
        guard !isHead else { return nil }
        guard answer.status == 200, let body = answer.json else {
            return expects.mustSucceed && request.attempts == 0 ? "refused, though nothing in it is bent" : nil
        }
        if expects.mustBeRefused { return "granted, though something in it was never signed, proved or given" }
        return request.transport == .internal ? nil : fault(ofGrant: body, to: expects)
    }

    /// RFC 6749 §5.1, and whose it is.
    private static func fault(ofGrant body: JSONObject, to request: FuzzedRequest.Expectation) -> String? {
        guard let token = body.string("access_token"), let seconds = body.number("expires_in")?.int64, seconds > 0,
            !body.contains("error"), let name = body.string("token_type")
        else { return "a grant that lacks something" }
        let isEnrolment = name == "N_A" || token == FuzzCodes.accessToken
        guard let claims = claims(of: isEnrolment ? body.string("id_token") : token) else {
            return "a malformed token"
        }
        guard let subject = claims.string("sub"), request.subjects.contains(subject) else {
            return "a token for somebody who has not logged in"
        }
        guard claims.string("iss") == SampleApps.broker else { return "a token of another issuer" }
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
}
