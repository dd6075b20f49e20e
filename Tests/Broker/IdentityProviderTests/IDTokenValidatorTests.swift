import BrokerTesting
import IdentityProvider
import JOSE
import Logging
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

    // J-04
    @Test func algorithmsAreThoseOfTheIssuer() async throws {
        let es384 = try TestKey.shared(.es384)
        #expect(await provider.outcome(try provider.idToken(es384)) == .refused(.algorithmNotAllowed))
        let renamed = try TestKey.shared(.ps256).renamed("test-ES256")
        #expect(await provider.outcome(try provider.idToken(renamed)) == .refused(.algorithmNotAllowed))
        let confused = try TestKey.shared(.rs256).renamed("test-ES256")
        #expect(await provider.outcome(try provider.idToken(confused)) == .refused(.algorithmNotAllowed))
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

    @Test func form() async throws {
        let flawless = String(decoding: try provider.idToken(key).octets, as: UTF8.self)
        for text in [
            "", "..", "a.b.c", flawless + ".", flawless + "=", " " + flawless, flawless + "\n", flawless + ".a.b",
        ] {
            #expect(await provider.outcome(SubjectToken(text)) == .refused(.malformed))
        }
        let long = try key.sign(claims: JSONObject()) + String(repeating: "A", count: 16 << 10)
        #expect(await provider.outcome(SubjectToken(long)) == .refused(.malformed))
        let crit = try key.sign(header: #"{"alg":"ES256","kid":"test-ES256","crit":["exp"]}"#, payload: "{}")
        #expect(await provider.outcome(SubjectToken(crit)) == .refused(.headerRefused))
        let none = try key.sign(header: #"{"alg":"none"}"#, payload: "{}")
        #expect(await provider.outcome(SubjectToken(none)) == .refused(.algorithmNotAllowed))
        let array = try key.sign(header: #"{"alg":"ES256","kid":"test-ES256"}"#, payload: "[]")
        #expect(await provider.outcome(SubjectToken(array)) == .refused(.malformed))
        let forged = try TestKey(.es256, keyID: "test-ES256")
        #expect(await provider.outcome(try provider.idToken(forged)) == .refused(.badSignature))
    }

    @Test(arguments: [
        "at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "oauth-client-attestation+jwt",
        "JOSE", "JWE", "JWTX",
    ])
    func otherTypes(type: String) async throws {
        let token = try key.sign(claims: JSONObject(), type: type)
        #expect(await provider.outcome(SubjectToken(token)) == .refused(.wrongType))
    }

    @Test(arguments: [nil, "JWT", "jwt", "application/jwt"])
    func acceptableTypes(type: String?) async throws {
        let payload = try CompactJWS(String(decoding: try provider.idToken(key).octets, as: UTF8.self))
            .verified(by: key.publicKey).claims
        #expect(await provider.outcome(SubjectToken(try key.sign(claims: payload, type: type))) == .verified)
    }

    // K-01, K-04
    @Test(arguments: [
        nil, "https://idp.example.com/", "https://IDP.example.com", "http://idp.example.com",
        "https://idp.example.com:443",
        "https://u@idp.example.com", "http://169.254.169.254/", "",
    ])
    func issuer(value: String?) async throws {
        #expect(try await outcome(("iss", value.map { .string($0) })) == .refused(.issuerMismatch))
    }

    // K-10
    @Test func subject() async throws {
        for value: JSONValue? in [
            nil, .null, .number(JSONNumber(12345)), .string(""), .string(String(repeating: "a", count: 256)),
            .string("a\u{0}"),
            .string("é"), .array([.string("a")]),
        ] {
            #expect(try await outcome(("sub", value)) == .refused(.subject))
        }
        #expect(try await outcome(("sub", .string(String(repeating: "a", count: 255)))) == .verified)
    }

    // K-19
    @Test func sessionID() async throws {
        for value: JSONValue? in [
            nil, .null, .number(JSONNumber(1)), .string(""), .string(String(repeating: "a", count: 256)),
            .string("a\nb"),
        ] {
            #expect(try await outcome(("sid", value)) == .refused(.sessionID))
        }
    }

    @Test func deviceHashes() async throws {
        for name in ["di_hash", "ds_hash"] {
            for value: JSONValue in [.null, .number(JSONNumber(1)), .string(""), .array([])] {
                #expect(try await outcome((name, value)) == .refused(.deviceHash))
            }
        }
        #expect(try await outcome(("di_hash", nil)) == .verified)  // the request decides which hash is required
    }

    // K-07
    @Test func audience() async throws {
        for value: JSONValue? in [
            nil, .null, .number(JSONNumber(1)), .string(""), .array([]),
            .array([.string("a"), .number(JSONNumber(1))]),
            .array([.string("")]), .object(JSONObject()),
        ] {
            #expect(try await outcome(("aud", value)) == .refused(.audience))
        }
        let two = JSONValue.array([.string("app-one"), .string("partner")])
        #expect(try await outcome(("aud", two)) == .refused(.authorizedParty))
        for party: JSONValue in [
            .string("other"), .string(""), .null, .array([.string("app-one")]), .string("APP-ONE"),
        ] {
            #expect(try await outcome(("aud", two), ("azp", party)) == .refused(.authorizedParty))
            #expect(try await outcome(("azp", party)) == .refused(.authorizedParty))
        }
        let claims = try await provider.verify(
            try provider.idToken(key, [("aud", two), ("azp", .string("partner"))]))
        #expect(claims.sourceClient.string == "partner")
        #expect(try await outcome(("aud", .array([.string("app-one")]))) == .verified)
    }

    // K-14, K-17, K-18
    @Test func issuedAt() async throws {
        for text in ["null", "true", "\"1795000000\"", "1e308", "9223372036854775808", "[1]", "1795000061", "9e18"] {
            #expect(try await outcome(("iat", try json(text))) == .refused(.issuedAt))
        }
        #expect(try await outcome(("iat", nil)) == .refused(.issuedAt))
        for offset: Int64 in [-90 * 86_400, 0, 10, 60] {
            #expect(try await outcome(("iat", time(offset))) == .verified)
        }
        #expect(try await outcome(("iat", try json("1795000060.9"))) == .verified)  // floored
        #expect(try await outcome(("iat", try json("-1"))) == .verified)  // too old: the age rule refuses it
    }

    // K-13, K-15, K-18
    @Test func expiry() async throws {
        for text in [
            "null", "true", "\"1800000000\"", "1e308", "-1", "9223372036854775808", "1700000000.9", "1795000000",
        ] {
            #expect(try await outcome(("exp", try json(text))) == .refused(.expiry))
        }
        #expect(try await outcome(("exp", nil)) == .refused(.expiry))
        #expect(try await outcome(("exp", .number(JSONNumber(.max)))) == .verified)
        #expect(try await outcome(("iat", time(-7200)), ("exp", time(-3600))) == .verified)  // Native SSO §6.3
    }

    @Test func notBefore() async throws {
        #expect(try await outcome(("nbf", time(60))) == .verified)
        for value in [time(61), .null, .string("0")] {
            #expect(try await outcome(("nbf", value)) == .refused(.notBefore))
        }
    }

    @Test func login() async throws {
        #expect(try await outcome(("auth_time", time(60))) == .verified)
        // Some IdPs write 0 for an unknown time.
        let unknown = try await provider.verify(try provider.idToken(key, [("auth_time", .number(JSONNumber(0)))]))
        #expect(unknown.login.authenticatedAt == nil)
        for value in [
            time(61), .null, .string("0"), .number(JSONNumber(-1)), .number(JSONNumber(-9_000_000_000_000)),
            .number(JSONNumber(Int64.min)),
        ] {
            #expect(try await outcome(("auth_time", value)) == .refused(.authenticationTime))
        }
        for value: JSONValue in [
            .null, .number(JSONNumber(2)), .string(""), .string("a\u{0}b"), .string(String(repeating: "a", count: 256)),
        ] {
            #expect(try await outcome(("acr", value)) == .refused(.login))
            #expect(try await outcome(("amr", .array([value]))) == .refused(.login))
        }
        #expect(try await outcome(("amr", .string("pwd"))) == .refused(.login))
        #expect(try await outcome(("amr", .array(Array(repeating: .string("a"), count: 17)))) == .refused(.login))
        #expect(try await outcome(("amr", .array([]))) == .verified)
    }

    // K-08, RFC 8725 §3.12
    @Test func otherKindsOfToken() async throws {
        for value: JSONValue in [.null, .object(JSONObject()), .string("x")] {
            #expect(try await outcome(("events", value)) == .refused(.logoutToken))
            #expect(try await outcome(("scope", value)) == .refused(.accessToken))
            #expect(try await outcome(("scp", value)) == .refused(.accessToken))
            #expect(try await outcome(("act", value)) == .refused(.actorClaim))
        }
    }

    @Test func mayAct() async throws {
        for text in [
            "null", "{}", "\"app-two\"", #"{"sub":1}"#, #"{"client_id":null,"sub":"app-two"}"#, #"{"sub":""}"#,
        ] {
            #expect(try await outcome(("may_act", try json(text))) == .refused(.mayAct))
        }
        let token = try provider.idToken(key, [("may_act", try json(#"{"sub":"app-two"}"#))])
        #expect(try await provider.verify(token).mayAct?.string == "app-two")
    }

    /// No user of this IdP must look like one of the other IdP.
    @Test func aSubjectWithThePrefixOfAnotherProvider() async throws {
        #expect(try await outcome(("sub", .string("other|alice"))) == .refused(.subjectReserved))
        #expect(try await outcome(("sub", .string("other|"))) == .refused(.subjectReserved))
        #expect(try await outcome(("sub", .string("other"))) == .verified)
    }

    // J-12
    @Test func keysOfAnotherIssuerDoNotCount() async throws {
        let other = ProviderKeys(
            issuer: Issuer(validated: "https://other.example"),
            fetcher: try ScriptedFetcher([try TestKey(.es256, keyID: "b")]),
            archive: provider.archive, wallClock: provider.wallClock, clock: provider.clock,
            logger: .init(label: "test"))
        let validator = IDTokenValidator(
            [.init(keys: provider.keys, algorithms: [.es256]), .init(keys: other, algorithms: [.es256])],
            subjects: TestProvider.subjects)
        let foreign = try TestKey(.es256, keyID: "b")
        let token = try provider.idToken(foreign)
        await #expect {
            try await validator.verify(token, from: TestProvider.issuer, for: .exchange, at: provider.wallClock.now)
                .claims
        } throws: {
            if case .refused(.unknownKey)? = $0 as? IDTokenVerificationError { true } else { false }
        }
    }
}
