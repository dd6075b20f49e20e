import BrokerTesting
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// The claims of OpenID Connect Core, each under a valid signature. Identifiers are those of the abuse catalogue.
@Suite struct IDTokenValidatorTests {
    private let provider: TestProvider
    private let key: TestKey

    init() throws {
        key = try TestKey.shared(.es256)
        provider = TestProvider(try ScriptedFetcher([key, try TestKey.shared(.es384), try TestKey.shared(.rs256)]))
    }

    private func outcome(_ changes: (String, JSONValue?)...) async throws -> TestProvider.Outcome {
        await provider.outcome(try provider.idToken(key, changes))
    }

    private func time(_ offset: Int64) -> JSONValue { .number(JSONNumber(TestProvider.start.seconds + offset)) }

    private func json(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }

    @Test func readsEveryClaim() async throws {
        let claims = try await provider.verify(
            try provider.idToken(
                key,
                [
                    ("aud", .array([.string("app-one"), .string("api")])), ("azp", .string("app-one")),
                    ("auth_time", time(-100)), ("acr", .string("urn:example:loa2")),
                    ("amr", .array([.string("pwd"), .string("otp")])), ("ds_hash", .string("kjUFOPGZj71P1tPEBR__zg")),
                    ("may_act", try json(#"{"client_id":"app-two"}"#)), ("nbf", time(0)),
                    // K-23: the source client checks this.
                    ("nonce", .number(JSONNumber(7))), ("at_hash", .string("wrong")), ("c_hash", .null),
                ]))
        #expect(claims.issuer == TestProvider.issuer)
        #expect(claims.subject.string == "248289761001")
        #expect(claims.sessionID?.string == "08a5019c")
        #expect(claims.sourceClient.string == "app-one")
        #expect(claims.audience.map(\.string) == ["app-one", "api"])
        #expect(claims.issuedAt == TestProvider.start)
        #expect(claims.expiresAt == TestProvider.start.adding(3600))
        #expect(claims.login.authenticatedAt == TestProvider.start.adding(-100))
        #expect(claims.login.contextClass == "urn:example:loa2")
        #expect(claims.login.methods == ["pwd", "otp"])
        #expect(claims.deviceIDHash == "b2011aotZ8lT3eslukasAg")
        #expect(claims.deviceSecretHash == "kjUFOPGZj71P1tPEBR__zg")
        #expect(claims.hashFunction == .sha256)
        #expect(claims.mayAct?.string == "app-two")
    }

    @Test(arguments: [
        (SignatureAlgorithm.rs256, TokenHashFunction.sha256), (.rs384, .sha384), (.rs512, .sha512), (.ps256, .sha256),
        (.ps384, .sha384), (.ps512, .sha512), (.es256, .sha256), (.es384, .sha384), (.es512, .sha512),
        (.edDSA, .sha512),
        (.ed25519, .sha512),
    ])
    func hashFunctionFollowsTheAlgorithm(algorithm: SignatureAlgorithm, function: TokenHashFunction) async throws {
        let key = try TestKey.shared(algorithm)
        let provider = TestProvider(try ScriptedFetcher([key]), algorithms: [algorithm])
        #expect(try await provider.verify(try provider.idToken(key)).hashFunction == function)
    }

    /// The caller must change the issuer, not the algorithm or the key. No key set is fetched for such a token.
    @Test func theTokenOfAnotherIssuerIsRefusedForThat() async throws {
        let es384 = try TestKey.shared(.es384)
        let other = ("iss", JSONValue.string("https://other.example.com"))
        #expect(await provider.outcome(try provider.idToken(es384, [other])) == .refused(.issuerMismatch))
        let unknown = try TestKey(.es256, keyID: "unknown")
        #expect(await provider.outcome(try provider.idToken(unknown, [other])) == .refused(.issuerMismatch))
        #expect(provider.fetcher.count == 0)
        #expect(await provider.outcome(try provider.idToken(key, [other])) == .refused(.issuerMismatch))
    }

    /// What the abuse catalogue sends in no request: edges of times and lengths, and members of a claim.
    private static let rows: [(claim: String, json: String, defect: SubjectTokenDefect?)] = [
        ("sub", longText(255), nil), ("sub", #""other""#, nil), ("sub", #"["a"]"#, .subject),
        // No user of this IdP must look like one of the other IdP.
        ("sub", #""other|alice""#, .subjectReserved), ("sub", #""other|""#, .subjectReserved),
        ("aud", #"["app-one"]"#, nil), ("aud", #"["a",1]"#, .audience), ("aud", #"[""]"#, .audience),
        ("azp", "null", .authorizedParty), ("azp", #""""#, .authorizedParty),
        ("azp", #"["app-one"]"#, .authorizedParty), ("azp", #""APP-ONE""#, .authorizedParty),
        ("iat", "1795000060", nil), ("iat", "1795000060.9", nil), ("iat", "1795000061", .issuedAt),
        ("iat", "9e18", .issuedAt),
        // Too old: the age rule refuses it.
        ("iat", "-1", nil), ("iat", "1787224000", nil),
        ("exp", "9223372036854775807", nil), ("exp", "1795000000", .expiry), ("exp", "1700000000.9", .expiry),
        ("nbf", "1795000060", nil), ("nbf", "1795000061", .notBefore), ("nbf", "null", .notBefore),
        ("auth_time", "1795000060", nil), ("auth_time", "1795000061", .authenticationTime),
        ("auth_time", "null", .authenticationTime), ("auth_time", "-1", .authenticationTime),
        ("auth_time", "-9000000000000", .authenticationTime),
        ("auth_time", "-9223372036854775808", .authenticationTime),
        ("acr", "null", .login), ("acr", "2", .login), ("acr", #""""#, .login), ("acr", #""a\u0000b""#, .login),
        ("acr", longText(256), .login), ("amr", "[]", nil), ("amr", #""pwd""#, .login), ("amr", "[2]", .login),
        ("amr", #"[""]"#, .login), ("amr", "[\(longText(256))]", .login),
        ("amr", "[" + String(repeating: #""a","#, count: 16) + #""a"]"#, .login),
        // K-08, RFC 8725 §3.12: other kinds of token, whatever the claim's value.
        ("events", "null", .logoutToken), ("scope", "null", .accessToken), ("scp", #""x""#, .accessToken),
        ("scp", "null", .accessToken), ("act", "null", .actorClaim), ("act", #""x""#, .actorClaim),
        ("may_act", "null", .mayAct), ("may_act", "{}", .mayAct), ("may_act", #"{"sub":1}"#, .mayAct),
        ("may_act", #"{"sub":""}"#, .mayAct), ("may_act", #"{"client_id":null,"sub":"app-two"}"#, .mayAct),
        ("may_act", #"{"sub":"app-two"}"#, nil), ("di_hash", "null", .deviceHash), ("di_hash", "[]", .deviceHash),
        ("ds_hash", "1", .deviceHash), ("ds_hash", #""""#, .deviceHash),
    ]

    private static func longText(_ count: Int) -> String { "\"\(String(repeating: "a", count: count))\"" }

    @Test(arguments: rows.indices) func claim(_ index: Int) async throws {
        let (claim, text, defect) = Self.rows[index]
        let expected = defect.map { TestProvider.Outcome.refused($0) } ?? .verified
        #expect(try await outcome((claim, try json(text))) == expected, "\(claim) \(text.prefix(40))")
    }

    @Test func whatIsReadOfAClaim() async throws {
        let two = JSONValue.array([.string("app-one"), .string("partner")])
        for party: JSONValue in [.string("other"), .null] {
            #expect(try await outcome(("aud", two), ("azp", party)) == .refused(.authorizedParty))
        }
        let claims = try await provider.verify(
            try provider.idToken(
                key,
                [
                    ("aud", two), ("azp", .string("partner")), ("may_act", try json(#"{"sub":"app-two"}"#)),
                    // Some IdPs write 0 for an unknown time.
                    ("auth_time", .number(JSONNumber(0))), ("di_hash", nil),
                ]))
        #expect(claims.sourceClient.string == "partner" && claims.mayAct?.string == "app-two")
        #expect(claims.login.authenticatedAt == nil)
        #expect(claims.deviceIDHash == nil, "the request decides which hash is required")
        // Native SSO §6.3.
        #expect(try await outcome(("iat", time(-7200)), ("exp", time(-3600))) == .verified)
    }
}
