import BrokerTesting
import JOSE
import StrictCoding
import Testing

@testable import TokenVerifier

/// The cases of the abuse catalogue on JWTs, with the access token that an API gets in place of the id_token.
@Suite struct TokenAbuseTests {
    /// Every case of the catalogue on a JWT's header (J) and claims (K).
    static let catalogue: Set = [
        "J-01", "J-02", "J-04", "J-06", "J-07", "J-08", "J-11", "J-12", "J-13", "J-14", "J-17", "J-19", "J-23", "J-24",
        "J-25", "J-26", "K-01", "K-03", "K-04", "K-06", "K-07", "K-08", "K-10", "K-13", "K-14", "K-15", "K-16", "K-17",
        "K-18", "K-19", "K-21", "K-23", "K-24", "K-25", "K-26",
    ]

    /// What an API cannot be attacked with, or what other tests try.
    static let elsewhere = [
        "J-24": "JOSETests run the vectors on the same readers",
        "K-19": "a verifier knows no sessions: IntrospectionEndpointTests",
        "K-21": "an access token names no device",
        "K-24": "the API asks for it: the claims have authenticatedAt and contextClass",
        "K-26": "a verifier knows no sessions: IntrospectionEndpointTests",
    ]

    /// What a case makes: a resource server, and the tokens that it must refuse, or take if the code is nil.
    struct Case: Sendable {
        let id: String
        let title: String
        let attempts: @Sendable () throws -> [(token: String, expected: VerificationError.Code?)]
        var resource: @Sendable () throws -> Resource = { try TokenAbuseTests.resource() }
    }

    private static func key() throws -> TestKey { try TestKey.shared(.es256) }
    private static func stranger() throws -> TestKey { try TestKey(.es256, keyID: try key().keyID) }

    static func resource(_ algorithms: Set<SignatureAlgorithm> = [.es256], _ document: String? = nil) throws -> Resource
    {
        let resource = Resource(algorithms: algorithms)
        if let document {
            resource.loader.answer(garbage: document)
        } else {
            try resource.loader.answer([key(), try TestKey.shared(.es384), try TestKey.shared(.rs256)])
        }
        return resource
    }

    private static func claims(_ changes: [(String, String)] = []) -> String {
        let members = [
            ("iss", #""https://sso.example.com""#), ("sub", #""248289761001""#), ("aud", #""https://api.example.com""#),
            ("client_id", #""app-two""#), ("iat", "1795000000"), ("exp", "1795000300"), ("jti", #""b1f5""#),
        ]
        let kept = members.filter { member in !changes.contains { $0.0 == member.0 } }
        return "{" + (kept + changes.filter { !$0.1.isEmpty }).map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    /// - Parameter header: Replaces the members of the header, or adds to them.
    private static func token(
        by key: TestKey? = nil, header: [(String, String)] = [], _ changes: [(String, String)] = []
    ) throws -> String {
        let signer = try key ?? Self.key()
        let members = [
            ("alg", "\"\(signer.algorithm.rawValue)\""), ("kid", "\"\(signer.keyID ?? "")\""), ("typ", #""at+jwt""#),
        ]
        let kept = members.filter { member in !header.contains { $0.0 == member.0 } }
        let text = (kept + header.filter { !$0.1.isEmpty }).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        return try signer.sign(header: "{\(text)}", payload: claims(changes))
    }

    private static func withoutSignature(_ token: String) -> Substring {
        token.prefix(upTo: token.lastIndex(of: ".") ?? token.startIndex)
    }

    private static func refused(
        _ code: VerificationError.Code, _ tokens: [String]
    ) -> [(token: String, expected: VerificationError.Code?)] { tokens.map { ($0, code) } }

    static let headers: [Case] = [
        Case(id: "J-01", title: "no algorithm, in every spelling") {
            let names = ["none", "None", "nOnE", "NONE", "none ", "", "HS256", "HS512", "es256", "ES256 "]
            let tokens = try names.map { try token(header: [("alg", "\"\($0)\"")]) }
            return refused(.algorithmNotAllowed, tokens)
                + refused(.malformed, tokens.map { withoutSignature($0) + "." } + [try token(header: [("alg", "")])])
        },
        Case(id: "J-02", title: "the signature taken away") {
            let unsigned = withoutSignature(try token())
            return refused(.malformed, [unsigned + ".", String(unsigned)])
        },
        Case(id: "J-04", title: "an algorithm that the issuer may not use") {
            refused(
                .algorithmNotAllowed,
                [
                    try token(by: try TestKey.shared(.es384)), try token(by: try TestKey.shared(.rs256)),
                    try token(by: try TestKey.shared(.ps256)), try token(by: try TestKey.shared(.edDSA)),
                ])
        },
        Case(
            id: "J-06", title: "a key for another use",
            attempts: { refused(.unknownKey, [try token()]) },
            resource: {
                let keys = try [#""use":"enc""#, #""key_ops":["encrypt"]"#].map { member in
                    let json = String(decoding: try TestKey.document([key()]), as: UTF8.self)
                    return json.dropFirst(#"{"keys":[{"#.count).dropLast(3).replacing(#""use":"sig""#, with: member)
                }
                let other = String(decoding: try TestKey.document([try TestKey.shared(.es384)]), as: UTF8.self)
                return try resource(
                    [.es256], other.dropLast(2) + ",{" + keys.joined(separator: "},{") + "}]}")
            }),
        Case(id: "J-07", title: "a key in the token") {
            let attacker = try TestKey(.es256, keyID: "evil")
            let json = String(decoding: try TestKey.document([attacker]), as: UTF8.self)
            let jwk = String(json.dropFirst(#"{"keys":["#.count).dropLast(2))
            return refused(.unknownKey, [try token(by: attacker, header: [("jwk", jwk)])])
                + refused(.badSignature, [try token(by: try stranger(), header: [("jwk", jwk)])])
        },
        Case(id: "J-08", title: "the address of a key in the token") {
            try ["jku", "x5u"].flatMap { name in
                try ["http://127.0.0.1:1/", "http://169.254.169.254/"].flatMap { address in
                    let header = [(name, "\"\(address)\"")]
                    return refused(.badSignature, [try token(by: try stranger(), header: header)])
                        + [(try token(header: header), nil)]
                }
            }
        },
        Case(id: "J-11", title: "no key named, and one of them fits") { [(try token(header: [("kid", "")]), nil)] },
        Case(
            id: "J-11", title: "no key named, and several fit",
            attempts: { refused(.unknownKey, [try token(header: [("kid", "")])]) },
            resource: {
                let resource = Resource()
                try resource.loader.answer([key(), try TestKey(.es256, keyID: "second")])
                return resource
            }),
        Case(
            id: "J-13", title: "a key that the issuer has taken back",
            attempts: { refused(.unknownKey, [try token()]) },
            resource: {
                let resource = Resource()
                try resource.loader.answer([try TestKey(.es256, keyID: "next")])
                return resource
            }),
        Case(id: "J-14", title: "an extension that must be understood") {
            refused(
                .malformed,
                try [
                    [("crit", #"["bork"]"#)], [("crit", "[]")], [("crit", #"["alg"]"#)], [("crit", "null")],
                    [("crit", #"["b64"]"#), ("b64", "false")], [("b64", "false")],
                ].map { try token(header: $0) })
        },
        Case(id: "J-17", title: "encrypted, compressed") {
            let jwe = [
                #"{"alg":"dir","enc":"A256GCM"}"#, #"{"alg":"RSA-OAEP","enc":"A256GCM"}"#,
                #"{"alg":"PBES2-HS256+A128KW","p2c":2147483647,"enc":"A128GCM"}"#,
                #"{"alg":"dir","enc":"A256GCM","zip":"DEF"}"#,
            ].map { Base64URL.encode($0.utf8) + ".AAAA.AAAA.AAAA.AAAA" }
            return refused(.malformed, jwe + [try token(header: [("zip", #""DEF""#)])])
        },
        Case(id: "J-19", title: "dots") {
            refused(.malformed, [String(repeating: ".", count: 1_000_000), String(repeating: ".", count: 8000)])
        },
        Case(
            id: "J-23", title: "another padding, another signature, a weak key",
            attempts: {
                let rsa = try TestKey.shared(.rs256)
                let good = try token(by: rsa)
                let payload = Base64URL.encode(claims().utf8)
                let header = #"{"alg":"RS256","kid":"test-RS256","typ":"at+jwt"}"#
                let weak = try token(by: rsa, header: [("kid", #""weak""#)])
                return [(good, nil)]
                    + refused(
                        .badSignature,
                        [
                            try rsa.sign(header: header, payload: claims(), algorithm: .ps256),
                            try rsa.sign(header: header, payload: claims(), algorithm: .rs512),
                            Base64URL.encode(header.utf8) + "." + payload + "."
                                + Base64URL.encode([UInt8](repeating: 0, count: 256)),
                            Base64URL.encode(header.utf8) + "." + payload + "." + Base64URL.encode([1]),
                        ])
                    + refused(.unknownKey, [weak])
            },
            resource: {
                let modulus = Base64URL.encode([UInt8](repeating: 0xFF, count: 64))
                let weak = #",{"kty":"RSA","kid":"weak","alg":"RS256","e":"AQAB","n":"\#(modulus)"}]}"#
                let good = String(decoding: try TestKey.document([try TestKey.shared(.rs256)]), as: UTF8.self)
                return try resource([.rs256], good.dropLast(2) + weak)
            }),
        Case(id: "J-26", title: "other octets than the signed ones") {
            let parts = try token().split(separator: ".")
            let other = Base64URL.encode(claims([("sub", #""admin""#)]).utf8)
            return refused(.badSignature, ["\(parts[0]).\(other).\(parts[2])"])
                + refused(
                    .malformed,
                    ["\(parts[0]).\(parts[1]).\(other).\(parts[2])", "\(parts[0]).\(parts[1])=.\(parts[2])"])
                + refused(.malformed, [try token([("sub", #""a","sub":"admin""#)])])
        },
    ]

    static let claimCases: [Case] = [
        Case(id: "K-01", title: "almost the issuer") {
            try [
                "https://sso.example.com/", "https://SSO.example.com", "http://sso.example.com",
                "https://x@sso.example.com", "https://sso.example.com:443", "https://ſso.example.com",
            ].map { (try token([("iss", "\"\($0)\"")]), .wrongIssuer) } + [(try token([("iss", "")]), .malformedClaim)]
        },
        Case(id: "K-06", title: "for another service") {
            refused(
                .wrongAudience, [try token([("aud", #""partner-app""#)]), try token([("aud", #"["partner-app"]"#)])])
        },
        Case(id: "K-07", title: "for this service and another: RFC 9068 lets it") {
            [(try token([("aud", #"["https://api.example.com","partner-app"]"#)]), nil)]
        },
        Case(id: "K-08", title: "an id_token as access token") {
            refused(.wrongType, try [#""JWT""#, "", #""logout+jwt""#].map { try token(header: [("typ", $0)]) })
        },
        Case(id: "K-10", title: "no subject") {
            refused(.malformedClaim, try ["", "null", "12345", #""""#, #"["a"]"#].map { try token([("sub", $0)]) })
        },
        Case(id: "K-13", title: "without end") { refused(.malformedClaim, [try token([("exp", "")])]) },
        Case(id: "K-14", title: "without beginning") { refused(.malformedClaim, [try token([("iat", "")])]) },
        Case(id: "K-15", title: "expired") { refused(.expired, [try token([("exp", "1794740800")])]) },
        Case(id: "K-16", title: "issued long ago, and not over: the issuer decides") {
            [(try token([("iat", "1760440000")]), nil)]
        },
        Case(id: "K-17", title: "from the future") {
            [(try token([("nbf", "1795000005")]), nil), (try token([("nbf", "1795000061")]), .notYetValid)]
        },
        Case(id: "K-18", title: "malformed times") {
            refused(
                .malformedClaim,
                try ["1e308", #""1795000300""#, "9223372036854775808", "null", "true", "[]"].map {
                    try token([("exp", $0)])
                })
                + [(try token([("exp", "-1")]), .expired), (try token([("exp", "1795000300.9")]), nil)]
        },
        Case(id: "K-23", title: "hashes of other tokens are not for an API") {
            [(try token([("at_hash", #""wrong""#), ("nonce", "7")]), nil)]
        },
        Case(id: "K-25", title: "too many claims") {
            let many = (0..<5000).map { ("c\($0)", "1") }
            let deep = String(repeating: #"{"a":"#, count: 200) + "1" + String(repeating: "}", count: 200)
            return refused(
                .malformed,
                [
                    try token([("text", "\"\(String(repeating: "x", count: 16 << 10))\"")]), try token(many),
                    try token([("deep", deep)]),
                ])
        },
    ]

    @Test(arguments: headers + claimCases)
    func isRefused(_ attack: Case) async throws {
        let resource = try attack.resource()
        await resource.verifier.prepare()
        let loads = resource.loader.count
        for (token, expected) in try attack.attempts() {
            let refusal = await resource.refusal(token)
            #expect(refusal?.code == expected, "\(attack.id) \(token.prefix(200))")
        }
        // A token causes no request. Only a key that is not known may, and the pause between two loads forbids it here.
        #expect(resource.loader.count == loads)
    }

    @Test("J-12, K-03, K-04: the issuer in the token only selects one of the configured")
    func severalIssuers() async throws {
        let (ours, theirs) = (Resource(), Resource(issuer: "https://idp.example.com"))
        try ours.loader.answer([Self.key()])
        let other = try TestKey(.es256, keyID: "theirs")
        try theirs.loader.answer([other])
        let set = TokenVerifierSet([ours.verifier, theirs.verifier])
        for (token, expected): (String, VerificationError.Code?) in [
            (try Self.token(), nil), (try Self.token(by: other, [("iss", #""https://idp.example.com""#)]), nil),
            (try Self.token(by: other), .unknownKey),
            (try Self.token([("iss", #""https://idp.example.com""#)]), .unknownKey),
            (try Self.token([("iss", #""https://disabled.example.com""#)]), .wrongIssuer),
            (try Self.token([("iss", #""http://169.254.169.254/""#)]), .wrongIssuer),
            ("..", .malformed), ("a.b.c", .malformed),
        ] {
            var code: VerificationError.Code?
            do throws(VerificationError) {
                _ = try await set.verify(token, audience: "https://api.example.com")
            } catch {
                code = error.code
            }
            #expect(code == expected, "\(token)")
        }
        #expect(ours.loader.count == 1 && theirs.loader.count == 1)
    }

    @Test("J-25: a remembered token never answers for another")
    func rememberedTokens() async throws {
        let resource = try Self.resource()
        let users = ["alice", "bob"]
        let tokens = try users.map { try Self.token([("sub", "\"\($0)\"")]) }
        for _ in 1...3 {
            for (user, token) in zip(users, tokens) {
                let claims = try await resource.verifier.verify(token, audience: "https://api.example.com")
                #expect(claims.subject == user)
            }
        }
        let parts = tokens.map { $0.split(separator: ".") }
        #expect(await resource.refusal("\(parts[0][0]).\(parts[1][1]).\(parts[0][2])")?.code == .badSignature)
    }

    @Test func everyCaseHasItsPlace() {
        let tried = Set((Self.headers + Self.claimCases).map(\.id))
            .union(["J-12", "K-03", "K-04", "J-25"])
        #expect(tried.isDisjoint(with: Self.elsewhere.keys))
        #expect(tried.union(Self.elsewhere.keys) == Self.catalogue)
    }
}

extension TokenAbuseTests.Case: CustomTestStringConvertible {
    var testDescription: String { "\(id): \(title)" }
}
