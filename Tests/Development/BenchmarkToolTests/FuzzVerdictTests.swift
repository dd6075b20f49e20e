import BrokerHarness
import BrokerTesting
import Foundation
import StrictCoding
import Testing

@testable import native_sso_bench

/// The verdict detects wrong answers to bent requests.
struct FuzzVerdictTests {
    static let good = [
        ("content-type", "application/json"), ("cache-control", "no-store"), ("pragma", "no-cache"),
        ("x-content-type-options", "nosniff"), ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("x-request-id", "0190a0b0-0000-7000-8000-000000000000"),
    ]
    static let refusal = #"{"error":"invalid_request","error_description":"No."}"#

    @Test(arguments: [(400, refusal), (404, refusal), (200, grant())]) func goodAnswers(_ status: Int, _ body: String) {
        #expect(Self.fault(status, body) == nil)
    }

    @Test(arguments: [
        (500, #"{"error":"server_error","error_description":"No."}"#),
        (503, #"{"error":"temporarily_unavailable","error_description":"No."}"#), (502, refusal), (302, refusal),
        (200, refusal), (400, grant()), (400, ""), (400, "<html>"),
        (400, #"{"error":"no_such","error_description":"x"}"#),
        (400, #"{"error":"invalid_request"}"#), (400, #"{"error":"invalid_request","error_description":"é"}"#),
        (400, #"{"error":"invalid_request","error_description":"x","access_token":"y"}"#),
        (401, #"{"error":"invalid_client","error_description":"x"}"#), (405, refusal),
    ]) func badAnswers(_ status: Int, _ body: String) { #expect(Self.fault(status, body) != nil) }

    @Test func whatWasNeverSignedIsNotGranted() {
        #expect(Self.fault(200, Self.grant(), Self.expects { $0.mustBeRefused = true }) != nil)
        for index in Self.good.indices {
            var fields = Self.good
            fields.remove(at: index)
            #expect(Self.fault(400, Self.refusal, fields: fields) != nil, "\(Self.good[index].0)")
        }
    }

    @Test func whatIsNotBentIsGranted() {
        let expects = Self.expects { $0.mustSucceed = true }
        #expect(Self.fault(200, Self.grant(), expects) == nil)
        #expect(Self.fault(400, Self.refusal, expects) != nil)
        // It may have been used up by the time that it went over a second connection.
        #expect(Self.fault(400, Self.refusal, expects, attempts: 1) == nil)
    }

    @Test func aTokenIsForWhoHasLoggedIn() {
        #expect(Self.fault(200, Self.grant(), Self.expects { $0.subjects = [] }) != nil)
        #expect(Self.fault(200, Self.grant(["sub": "somebody"])) != nil)
        #expect(Self.fault(200, Self.grant(["iss": "https://evil.example.test"])) != nil)
        #expect(
            Self.fault(200, #"{"access_token":"a.b","token_type":"Bearer","expires_in":1,"scope":"openid"}"#) != nil)
    }

    @Test func aTokenIsBoundToTheKeyThatWasProved() {
        let proved = Self.expects { $0.provenKey = "key" }
        #expect(Self.fault(200, Self.grant(key: "key", type: "DPoP"), proved) == nil)
        #expect(Self.fault(200, Self.grant(key: "key", type: "DPoP")) != nil)
        #expect(Self.fault(200, Self.grant(key: "another", type: "DPoP"), proved) != nil)
        #expect(Self.fault(200, Self.grant(key: nil, type: "DPoP"), proved) != nil)
        #expect(Self.fault(200, Self.grant(key: "key", type: "Bearer"), proved) != nil)
        #expect(Self.fault(200, Self.grant(["client_id": SampleApps.proving])) != nil)
        #expect(Self.fault(200, Self.grant(), proved) == nil)
        #expect(Self.fault(200, Self.grant(), Self.expects { $0.mustBeBound = true }) != nil)
    }

    @Test(arguments: [FuzzMaterial.signer, FuzzMaterial.confidential])
    func aTokenIsForTheClientThatProvedItself(_ client: String) {
        let grant = Self.grant(["client_id": client])
        #expect(Self.fault(200, grant, Self.expects { $0.provenClient = client }) == nil)
        #expect(Self.fault(200, grant) != nil)
        #expect(Self.fault(200, grant, Self.expects { $0.provenClient = "another" }) != nil)
    }

    @Test func anEnrolmentIsOfTheLoginThatWasBrought() {
        let (token, other) = (Self.token([:]), Self.token(["sub": "somebody"]))
        func answer(_ access: String, _ type: String, _ idToken: String) -> String {
            #"{"access_token":"\#(access)","token_type":"\#(type)","expires_in":1,"id_token":"\#(idToken)"}"#
        }
        #expect(Self.fault(200, answer(token, "N_A", token)) == nil)
        #expect(Self.fault(200, answer(other, "N_A", other)) != nil)
        #expect(Self.fault(200, answer(other, "N_A", token)) != nil)
        #expect(Self.fault(200, answer(FuzzCodes.accessToken, "Bearer", token)) == nil)
        // By a code that was given for another login, or for none.
        #expect(Self.fault(200, answer(FuzzCodes.accessToken, "Bearer", other)) != nil)
        #expect(Self.fault(200, answer(FuzzCodes.accessToken, "Bearer", "")) != nil)
    }

    @Test func aCodeThatIsInFlightIsTriedAgainLater() {
        let busy = #"{"error":"temporarily_unavailable","error_description":"No."}"#
        let stolen = Self.expects { ($0.mustBeRefused, $0.mayBeInFlight) = (true, true) }
        #expect(Self.fault(503, busy, stolen, fields: Self.good + [("retry-after", "1")]) == nil)
        #expect(Self.fault(503, busy, stolen) != nil)
        // Sent again, because the connection ended.
        let given = Self.expects { $0.mayBeInFlight = true }
        #expect(Self.fault(503, busy, given, fields: Self.good + [("retry-after", "1")]) != nil)
        #expect(Self.fault(503, Self.refusal, stolen, fields: Self.good + [("retry-after", "1")]) != nil)
    }

    @Test func anUnsignedLogoutEndsNothing() {
        let signed = Self.expects { $0.mustSucceed = true }
        let unsigned = Self.expects { $0.mustBeRefused = true }
        #expect(Self.fault(200, "{}", signed, at: .internal) == nil)
        #expect(Self.fault(200, "{}", unsigned, at: .internal) != nil)
        #expect(Self.fault(400, Self.refusal, signed, at: .internal) != nil)
        #expect(Self.fault(400, Self.refusal, unsigned, at: .internal) == nil)
    }

    // MARK: Answers

    static func grant(_ changes: [String: String] = [:], key: String? = nil, type: String = "Bearer") -> String {
        let token = token(changes, key: key)
        return #"{"access_token":"\#(token)","token_type":"\#(type)","expires_in":1,"scope":"openid"}"#
    }

    static func token(_ changes: [String: String], key: String? = nil) -> String {
        var claims = JSONObject()
        let honest = ["iss": SampleApps.broker, "sub": "user", "client_id": "app-00"]
        for (name, value) in honest.merging(changes, uniquingKeysWith: { $1 }) { claims[name] = .string(value) }
        if let key {
            var confirmation = JSONObject()
            confirmation["jkt"] = .string(key)
            claims["cnf"] = .object(confirmation)
        }
        return "e30.\(Base64URL.encode(claims.octets)).AA"
    }

    private static func expects(
        _ change: (inout FuzzedRequest.Expectation) -> Void = { _ in }
    ) -> FuzzedRequest.Expectation {
        var expectation = FuzzedRequest.Expectation(subjects: ["user"])
        change(&expectation)
        return expectation
    }

    private static func fault(
        _ status: Int, _ body: String, _ expects: FuzzedRequest.Expectation = expects(),
        at transport: FuzzTransport = .http1,
        attempts: Int = 0, fields: [(String, String)] = good
    ) -> String? {
        var request = FuzzedRequest(0, FuzzMessage(FuzzForm([])), at: transport, expects)
        request.attempts = attempts
        let answer = HTTPAnswer(status: status, fields: fields.map { ($0, $1) }, body: Array(body.utf8))
        return FuzzVerdict.fault(of: answer, to: request)
    }
}
