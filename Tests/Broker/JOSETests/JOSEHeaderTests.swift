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

    @Test func anHonestHeaderPasses() throws {
        #expect(try refusal(header: #"{"alg":"RS256","kid":"test-RS256","typ":"JWT","x":[1]}"#) == nil)
        #expect(try refusal(header: #" { "alg" : "RS256" } "#) == nil)
    }

    // J-01
    @Test(arguments: [
        "none", "None", "nOnE", "NONE", "none ", "", "HS256", "HS384", "HS512", "rs256", "RS256 ", "RS256\\u0000",
        "RSA-OAEP", "ES256K",
        "RS1", "Ed448", "dir",
    ])
    func algorithmsThatDoNotExist(name: String) throws {
        #expect(try refusal(header: #"{"alg":"\#(name)","kid":"test-RS256"}"#) == .unsupportedAlgorithm)
        let header = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8))
        #expect(throws: JWSError.emptySegment) { try CompactJWS(header + ".e30.") }
    }

    // J-01: the MAC of a public key's PEM is refused because HS256 has no name, whatever the signature.
    @Test(arguments: [#"{}"#, #"{"alg":null}"#, #"{"alg":1}"#, #"{"alg":["RS256"]}"#, #"{"kid":"a"}"#])
    func algorithmMissingOrOfWrongType(header: String) throws {
        #expect(try refusal(header: header) == .malformedHeader)
    }

    // J-14
    @Test(arguments: [
        #""crit":["bork"]"#, #""crit":[]"#, #""crit":["alg"]"#, #""crit":["exp"],"exp":1"#,
        #""crit":["b64"],"b64":false"#,
        #""crit":null"#, #""crit":"b64""#,
    ])
    func criticalExtensions(member: String) throws {
        #expect(try refusal(header: #"{"alg":"RS256",\#(member)}"#) == .criticalHeader)
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

    @Test(arguments: [
        (#"{"alg":"RS256","alg":"RS256"}"#, JWSError.headerNotJSON(.duplicateName(offset: 15))),
        (#"{"alg":"none","\u0061lg":"RS256"}"#, .headerNotJSON(.duplicateName(offset: 14))),
        (#"["RS256"]"#, .headerNotObject), (#""RS256""#, .headerNotObject),
        ("{\"alg\":\"RS256\"}x", .headerNotJSON(.trailingBytes(offset: 15))),
        ("RS256", .headerNotJSON(.unexpectedByte(offset: 0))),
    ])
    func headersThatAreNoStrictObject(header: String, error: JWSError) throws {
        #expect(try refusal(header: header) == error)
    }

    @Test(arguments: [#""kid":1"#, #""kid":"""#, #""kid":null"#, #""kid":["a"]"#, #""typ":1"#, #""typ":"""#])
    func parametersOfWrongType(member: String) throws {
        #expect(try refusal(header: #"{"alg":"RS256",\#(member)}"#) == .malformedHeader)
    }

    @Test func keyIDIsALookUpAndNothingElse() throws {
        for keyID in [
            "' OR 1=1 --", "../../etc/passwd", "test-RS256\\u0000", "TEST-RS256", "test-RS256 ", "test-ES256",
        ] {
            #expect(try refusal(header: #"{"alg":"RS256","kid":"\#(keyID)"}"#) == .unknownKey)
        }
        let long = String(repeating: "k", count: 256)
        #expect(try refusal(header: #"{"alg":"RS256","kid":"\#(long)"}"#) == .malformedHeader)
        #expect(try refusal(header: #"{"alg":"RS256","kid":"\#(long.dropLast())"}"#) == .unknownKey)
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

    @Test(arguments: [
        ("JWT", "JWT", true), ("jwt", "JWT", true), ("application/JWT", "jwt", true),
        ("APPLICATION/at+jwt", "at+jwt", true),
        ("at+jwt", "JWT", false), ("JWT ", "JWT", false), ("application/application/jwt", "jwt", false),
        ("text/jwt", "jwt", false),
        ("logout+jwt", "at+jwt", false),
    ])
    func types(written: String, expected: String, matches: Bool) throws {
        let token = try TestKey.shared(.es256).sign(claims: JSONObject(), type: written)
        #expect(try CompactJWS(token).header.hasType(expected) == matches)
    }

    @Test func noTypeIsNoType() throws {
        let token = try CompactJWS(try TestKey.shared(.es256).sign(claims: JSONObject(), type: nil))
        #expect(token.header.type == nil)
        #expect(!token.header.hasType("JWT"))
    }
}
