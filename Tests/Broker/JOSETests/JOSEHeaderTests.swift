import BrokerTesting
import JOSE
import StrictCoding
import Testing

/// Malicious headers, each under a valid signature. The identifiers are those of the abuse catalogue.
@Suite struct JOSEHeaderTests {
    private func refusal(header: String, payload: String = "{}") throws -> JWSError? {
        let key = try TestKey.shared(.rs256)
        let token = try key.sign(header: header, payload: payload)
        do {
            _ = try CompactJWS(token).verified(by: try JSONWebKeySet([key.publicKey]), allowing: [.rs256])
            return nil
        } catch let error as JWSError {
            return error
        }
    }

    private static let judged: [(error: JWSError?, headers: [String])] = [
        (nil, [#"{"alg":"RS256","kid":"test-RS256","typ":"JWT","x":[1]}"#, #" { "alg" : "RS256" } "#]),
        (.headerNotJSON(.duplicateName(offset: 15)), [#"{"alg":"RS256","alg":"RS256"}"#]),
        (.headerNotJSON(.duplicateName(offset: 14)), [#"{"alg":"none","\u0061lg":"RS256"}"#]),
        (.headerNotJSON(.trailingBytes(offset: 15)), [#"{"alg":"RS256"}x"#]),
        (.headerNotJSON(.unexpectedByte(offset: 0)), ["RS256"]),
        (.headerNotObject, [#"["RS256"]"#, #""RS256""#]),
        // J-01: the MAC of a public key's PEM is refused because HS256 has no name, whatever the signature.
        (
            .unsupportedAlgorithm,
            [
                "none", "None", "nOnE", "none ", "", "HS256", "HS384", "HS512", "rs256", #"RS256\u0000"#, "RSA-OAEP",
                "ES256K", "RS1", "Ed448", "dir",
            ].map { #"{"alg":"\#($0)","kid":"test-RS256"}"# }
        ),
        (.malformedHeader, ["{}", #"{"alg":null}"#, #"{"alg":1}"#, #"{"alg":["RS256"]}"#, #"{"kid":"a"}"#]),
        (
            .malformedHeader,
            [
                #""kid":1"#, #""kid":"""#, #""kid":null"#, #""kid":["a"]"#, #""typ":1"#, #""typ":"""#,
                #""kid":"\#(String(repeating: "k", count: 256))""#,
            ].map { #"{"alg":"RS256",\#($0)}"# }
        ),
        // J-14
        (
            .criticalHeader,
            [
                #""crit":["bork"]"#, #""crit":[]"#, #""crit":["alg"]"#, #""crit":["exp"],"exp":1"#,
                #""crit":["b64"],"b64":false"#, #""crit":null"#, #""crit":"b64""#,
            ].map { #"{"alg":"RS256",\#($0)}"# }
        ),
        // A key id is a look-up and nothing else.
        (
            .unknownKey,
            [
                "' OR 1=1 --", "../../etc/passwd", #"test-RS256\u0000"#, "TEST-RS256", "test-RS256 ", "test-ES256",
                String(repeating: "k", count: 255),
            ].map { #"{"alg":"RS256","kid":"\#($0)"}"# }
        ),
    ]

    @Test(arguments: judged.indices) func header(_ index: Int) throws {
        let (error, headers) = Self.judged[index]
        for header in headers { #expect(try refusal(header: header) == error, "\(header)") }
    }

    // J-17, J-26
    @Test func otherWaysToReadThePayload() throws {
        #expect(try refusal(header: #"{"alg":"RS256","b64":false}"#) == .unencodedPayload)
        #expect(try refusal(header: #"{"alg":"RS256","b64":true}"#) == .unencodedPayload)
        #expect(try refusal(header: #"{"alg":"RS256","zip":"DEF"}"#) == .compressed)
        #expect(throws: JWSError.encrypted) {
            try CompactJWS("eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00iLCJ6aXAiOiJERUYifQ.AA.AA.AA.AA")
        }
    }

    // J-07, J-08: the attacker's key in the header, and addresses of keys, change nothing.
    @Test func keysInTheHeaderAreIgnored() throws {
        let attacker = try TestKey(.rs256, keyID: "test-RS256")
        let honest = try TestKey.shared(.rs256)
        var header = attacker.header()
        header["jwk"] = .object(attacker.publicKey.json)
        header["jku"] = .string("http://127.0.0.1:1/")
        header["x5u"] = .string("http://169.254.169.254/")
        header["x5c"] = .array([.string("MIIB")])
        let forged = try CompactJWS(try attacker.sign(header: header, payload: JSONObject()))
        #expect(throws: JWSError.badSignature) {
            try forged.verified(by: try JSONWebKeySet([honest.publicKey]), allowing: [.rs256])
        }
        let genuine = try CompactJWS(try honest.sign(header: header, payload: JSONObject()))
        _ = try genuine.verified(by: try JSONWebKeySet([honest.publicKey]), allowing: [.rs256])
    }

    @Test(
        arguments: [
            ("JWT", "JWT", true), ("jwt", "JWT", true), ("application/JWT", "jwt", true),
            ("APPLICATION/at+jwt", "at+jwt", true), ("at+jwt", "JWT", false), ("JWT ", "JWT", false),
            ("application/application/jwt", "jwt", false), ("text/jwt", "jwt", false),
            ("logout+jwt", "at+jwt", false), (nil, "JWT", false),
        ] as [(String?, String, Bool)])
    func types(written: String?, expected: String, matches: Bool) throws {
        let token = try TestKey.shared(.es256).sign(claims: JSONObject(), type: written)
        #expect(try CompactJWS(token).header.hasType(expected) == matches)
    }
}
