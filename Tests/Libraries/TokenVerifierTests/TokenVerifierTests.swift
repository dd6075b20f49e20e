import BrokerTesting
import Crypto
import JOSE
import StrictCoding
import Testing
import TokenVerifier

/// RFC 9068 §4.
@Suite struct TokenVerifierTests {
    private let resource = Resource()
    private let key: TestKey

    init() throws {
        key = try TestKey.shared(.es256)
        try resource.loader.answer([key, try TestKey.shared(.es384)])
    }

    private func refusal(_ changes: (String, JSONValue?)...) async throws -> VerificationError? {
        await resource.refusal(try resource.token(key, changes))
    }

    private func time(_ offset: Int64) -> JSONValue { .number(JSONNumber(Resource.now + offset)) }

    @Test func readsEveryClaim() async throws {
        let token = try resource.token(
            key,
            [
                ("aud", .array([.string("https://other.example"), .string("https://api.example.com")])),
                ("auth_time", time(-6000)), ("acr", .string("urn:example:loa2")), ("amr", .array([.string("pwd")])),
                ("session_id", .string("s1")), ("role", .string("x")), ("idp", .string("https://idp.example.com")),
            ])
        let claims = try await resource.verifier.verify(token, audience: "https://api.example.com")
        #expect(claims.issuer == "https://sso.example.com")
        #expect(claims.subject == "248289761001")
        #expect(claims.clientID == "app-two")
        #expect(claims.audience == ["https://other.example", "https://api.example.com"])
        #expect(claims.issuedAt == Resource.now)
        #expect(claims.expiresAt == Resource.now + 300)
        #expect(claims.tokenID == "b1f5")
        #expect(claims.scope == ["profile", "orders.read"])
        #expect(claims.authenticatedAt == Resource.now - 6000)
        #expect(claims.contextClass == "urn:example:loa2")
        #expect(claims.methods == ["pwd"])
        #expect(claims.sessionID == "s1")
        #expect(claims.identityProvider == "https://idp.example.com")
        #expect(claims.proofKeyThumbprint == nil)
        #expect(claims.all.string("role") == "x")
    }

    /// An API that also takes tokens of an IdP names its users as the broker does.
    @Test func aPrefixForTokensOfAnIdentityProvider() async throws {
        let partner = Resource(subjectPrefix: "partner|")
        try partner.loader.answer([key])
        let claims = try await partner.verifier.verify(
            try partner.token(key, [("sub", .string("alice"))]), audience: "https://api.example.com")
        #expect(claims.subject == "partner|alice" && claims.all.string("sub") == "alice")
        #expect(claims.identityProvider == nil)
        let plain = Resource(reservedPrefixes: ["other|", "partner|"])
        try plain.loader.answer([key])
        #expect(await plain.refusal(try plain.token(key, [("sub", .string("alice"))])) == nil)
        #expect(
            await plain.refusal(try plain.token(key, [("sub", .string("partner|alice"))]))
                == VerificationError(.malformedClaim, claim: "sub"))
    }

    /// An id_token is no access token, whatever is in it.
    @Test(
        arguments: [
            ("at+jwt", true), ("application/at+jwt", true), ("AT+JWT", true), (nil, false), ("JWT", false),
            ("jwt", false), ("at+jwt ", false), ("dpop+jwt", false), ("logout+jwt", false),
        ] as [(String?, Bool)])
    func types(type: String?, isGood: Bool) async throws {
        let refusal = await resource.refusal(try resource.token(key, type: type))
        #expect(refusal == (isGood ? nil : VerificationError(.wrongType)))
    }

    @Test func claimsThatAreNoObject() async throws {
        let array = try key.sign(header: #"{"alg":"ES256","typ":"at+jwt","kid":"test-ES256"}"#, payload: "[]")
        #expect(await resource.refusal(array) == VerificationError(.malformed))
    }

    @Test(
        arguments: [
            (["iss", "sub", "client_id", "jti"], ["null", #""""#, "1", #"["a"]"#]),
            (["iat", "exp"], ["null", "true", #""1795000000""#, "1e308", "9223372036854775808", "[]"]),
            (["aud"], ["null", "[]", "[null]", "1"]),
        ])
    func requiredClaims(names: [String], malformed: [String]) async throws {
        for name in names {
            for value in [nil] + (try malformed.map { try JSONReader.parse(Array($0.utf8)) as JSONValue? }) {
                #expect(try await refusal((name, value)) == VerificationError(.malformedClaim, claim: name))
            }
        }
    }

    @Test func theAudienceIsComparedByOctet() async throws {
        for audience in ["https://api.example.com/", "https://api.example.co", "app-two"] {
            for claim in [JSONValue.string(audience), .array([.string(audience)])] {
                #expect(try await refusal(("aud", claim)) == VerificationError(.wrongAudience))
            }
        }
    }

    @Test func expiryToTheSecond() async throws {
        #expect(try await refusal(("exp", time(-4))) == nil)
        #expect(try await refusal(("exp", time(-5))) == VerificationError(.expired))
        #expect(try await refusal(("exp", .number(JSONNumber(.min)))) == VerificationError(.expired))
        #expect(try await refusal(("exp", .number(JSONNumber(.max)))) == nil)
        #expect(try await refusal(("nbf", time(5))) == nil)
        #expect(try await refusal(("nbf", time(6))) == VerificationError(.notYetValid))
        #expect(try await refusal(("nbf", .number(JSONNumber(.max)))) == VerificationError(.notYetValid))
        #expect(try await refusal(("nbf", .string("0"))) == VerificationError(.malformedClaim, claim: "nbf"))
    }

    @Test func leewayIsBounded() async throws {
        func isAccepted(expired seconds: Int64, leeway: Duration) async throws -> Bool {
            let token = try resource.token(key, [("exp", time(-seconds))])
            return (try? await resource.verifier.verify(token, audience: "https://api.example.com", leeway: leeway))
                != nil
        }
        #expect(try await isAccepted(expired: 59, leeway: .seconds(3600)))
        #expect(try await !isAccepted(expired: 60, leeway: .seconds(3600)))
        #expect(try await isAccepted(expired: -1, leeway: .seconds(-3600)))
        #expect(try await !isAccepted(expired: 0, leeway: .zero))
    }

    /// RFC 9449 §7.1: as a bearer token, a bound one is refused.
    @Test func senderConstrainedTokens() async throws {
        let confirmation = JSONValue.object(try #require(try JSONReader.parse(Array(#"{"jkt":"abc"}"#.utf8)).object))
        #expect(try await refusal(("cnf", confirmation)) == VerificationError(.senderConstrained))
        #expect(try await refusal(("cnf", .null)) == VerificationError(.senderConstrained))
        let accepting = Resource(acceptsSenderConstrained: true)
        try accepting.loader.answer([key])
        let token = try accepting.token(key, [("cnf", confirmation)])
        let claims = try await accepting.verifier.verify(token, audience: "https://api.example.com")
        #expect(claims.proofKeyThumbprint == "abc")
    }

    /// RFC 9449 §7.1: with a proof by the token's key, for this request.
    @Test func tokensWithProofs() async throws {
        let device = try TestKey.shared(.ed25519)
        var confirmation = JSONObject()
        confirmation["jkt"] = .string(TestProof.thumbprint(of: device))
        let token = try resource.token(key, [("cnf", .object(confirmation))])
        let address = "https://api.example.com/orders"
        let target = try #require(TargetURI(address))
        func refusal(
            _ token: String, by signer: TestKey = device, method: String = "GET", at target: TargetURI = target,
            _ bend: (inout TestProof) -> Void = { _ in }
        ) async throws -> VerificationError.Code? {
            var proof = TestProof(by: signer, for: address, at: Resource.now)
            proof.claims["htm"] = .string("GET")
            proof.claims["ath"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array(token.utf8)))))
            bend(&proof)
            let fields = [try proof.signed()]
            do throws(VerificationError) {
                let verified = try await resource.verifier.verify(
                    token, proofs: fields, method: method, target: target, audience: "https://api.example.com")
                #expect(verified.claims.proofKeyThumbprint == verified.proof.keyThumbprint)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try await refusal(token) == nil)
        #expect(try await refusal(token) { $0.claims["iat"] = .number(JSONNumber(Resource.now - 60)) } == nil)
        #expect(try await refusal(token) { $0.claims["iat"] = .number(JSONNumber(Resource.now - 61)) } == .invalidProof)
        #expect(try await refusal(token) { $0.claims["ath"] = nil } == .invalidProof)
        #expect(try await refusal(token) { $0.claims["ath"] = .string("AAAA") } == .invalidProof)
        #expect(try await refusal(token, by: try TestKey.shared(.es384)) == .invalidProof)
        #expect(try await refusal(token, method: "POST") == .invalidProof)
        let elsewhere = try #require(TargetURI("https://api.example.com/invoices"))
        #expect(try await refusal(token, at: elsewhere) == .invalidProof)
        #expect(try await refusal(try resource.token(key)) == .notSenderConstrained)
        #expect(try await refusal(token + "A") != nil)
    }

    @Test func scope() async throws {
        let claims = try await resource.verifier.verify(try resource.token(key), audience: "https://api.example.com")
        try claims.requires(scope: "orders.read")
        try claims.requires(scope: "orders.read", "profile")
        try claims.requires(scope: [])
        for missing in ["orders", "orders.write", "ORDERS.READ", ""] {
            #expect(throws: VerificationError(.insufficientScope)) { try claims.requires(scope: "profile", missing) }
        }
        let without = try await resource.verifier.verify(
            try resource.token(key, [("scope", nil)]), audience: "https://api.example.com")
        #expect(without.scope.isEmpty)
        for value: JSONValue in [.null, .array([.string("orders.read")]), .string("a\nb"), .string("é")] {
            #expect(try await refusal(("scope", value)) == VerificationError(.malformedClaim, claim: "scope"))
        }
    }
}
