import BrokerTesting
import JOSE
import StrictCoding
import Testing

@testable import TokenVerifier

/// The cases of the abuse catalogue on JWTs, with the access token that an API gets in place of the id_token. Type, audience,
/// required claims and times: `TokenVerifierTests`.
@Suite struct TokenAbuseTests {
    /// What a case makes: a resource server, and the tokens that it must refuse, or take if the code is nil.
    struct Case: Sendable {
        let id: String
        let title: String
        let attempts: @Sendable () throws -> [(token: String, expected: VerificationError.Code?)]
        var resource: @Sendable () throws -> Resource = { try TokenAbuseTests.resource() }
    }

    private static func key() throws -> TestKey { try TestKey.shared(.es256) }
    private static func stranger() throws -> TestKey { try TestKey(.es256, keyID: try key().keyID) }

    static func resource() throws -> Resource {
        let resource = Resource()
        try resource.loader.answer([key(), try TestKey.shared(.es384), try TestKey.shared(.rs256)])
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
    ]

    static let claimCases: [Case] = [
        Case(id: "K-01", title: "almost the issuer") {
            try [
                "https://sso.example.com/", "https://SSO.example.com", "http://sso.example.com",
                "https://x@sso.example.com", "https://sso.example.com:443", "https://ſso.example.com",
            ].map { (try token([("iss", "\"\($0)\"")]), .wrongIssuer) } + [(try token([("iss", "")]), .malformedClaim)]
        },
        Case(id: "K-16", title: "issued long ago, and not over: the issuer decides") {
            [(try token([("iat", "1760440000")]), nil)]
        },
        Case(id: "K-18", title: "an end with a fraction") { [(try token([("exp", "1795000300.9")]), nil)] },
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
            (try Self.token([("iss", "")]), .wrongIssuer), ("..", .malformed), ("a.b.c", .malformed),
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
}

extension TokenAbuseTests.Case: CustomTestStringConvertible {
    var testDescription: String { "\(id): \(title)" }
}
