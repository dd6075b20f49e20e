import BrokerTesting
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6, each rule under a valid signature. Identifiers are those of
/// the abuse catalogue.
@Suite struct LogoutTokenValidatorTests {
    private let provider: TestProvider
    private let key: TestKey
    private let fetcher: ScriptedFetcher

    init() throws {
        key = try TestKey.shared(.es256)
        fetcher = try ScriptedFetcher([key, try TestKey.shared(.es384)])
        provider = TestProvider(fetcher)
    }

    enum Outcome: Equatable {
        case verified
        case refused(LogoutRefusal)
        case outage(Outage.Component)
        case broken
    }

    private static let event = #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#

    private func claims(_ changes: [(String, JSONValue?)] = []) throws -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(TestProvider.issuer.string)
        claims["sub"] = .string("248289761001")
        claims["aud"] = .string("app-one")
        claims["iat"] = time(0)
        claims["exp"] = time(120)
        claims["jti"] = .string("bWJq")
        claims["sid"] = .string("08a5019c")
        claims["events"] = try json(Self.event)
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func time(_ offset: Int64) -> JSONValue { .number(JSONNumber(TestProvider.start.seconds + offset)) }

    private func json(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }

    private func verify(
        _ text: String, _ policy: LogoutPolicy = LogoutPolicy()
    ) async throws(LogoutError) -> LogoutTokenClaims {
        let validator = LogoutTokenValidator([
            .init(issuer: provider.keys.issuer, keys: provider.keys, algorithms: [.es256], policy: policy)
        ])
        return try await validator.verify(LogoutToken(text), at: provider.wallClock.now)
    }

    private func outcome(_ text: String, _ policy: LogoutPolicy = LogoutPolicy()) async -> Outcome {
        do throws(LogoutError) {
            _ = try await verify(text, policy)
            return .verified
        } catch {
            switch error {
            case .refused(let refusal): return .refused(refusal)
            case .outage(let outage): return .outage(outage.component)
            case .invalidIDToken, .limited, .broken: return .broken
            }
        }
    }

    private func outcome(
        _ policy: LogoutPolicy = LogoutPolicy(), _ changes: (String, JSONValue?)...
    ) async throws -> Outcome {
        await outcome(try key.sign(claims: try claims(changes), type: "logout+jwt"), policy)
    }

    @Test func readsEveryClaim() async throws {
        let bySID = try await verify(try key.sign(claims: try claims(), type: "logout+jwt"))
        #expect(bySID.signal.issuer == TestProvider.issuer)
        let (session, user) = (SessionID(validated: "08a5019c"), Subject(validated: "248289761001"))
        #expect(bySID.signal.subject == .sessionAndWithoutSID(session, of: user))
        #expect(bySID.audience == [ClientID(validated: "app-one")])
        #expect(bySID.signal.effectiveAt == TestProvider.start)
        #expect(bySID.signal.tokenID == "bWJq")
        #expect(bySID.signal.refusedAfter == TestProvider.start.adding(360))
        let bySub = try await verify(
            try key.sign(claims: try claims([("sid", nil)]), type: "application/logout+jwt"))
        #expect(bySub.signal.subject == .user(user))
        for (reach, subject) in [
            (LogoutReach.session, LogoutSubject.session(session)),
            (.withoutSID, .sessionAndWithoutSID(session, of: user)),
            (.user, .sessionAndUser(session, user)),
        ] {
            let policy = LogoutPolicy(reach: reach)
            let both = try key.sign(claims: try claims(), type: "logout+jwt")
            #expect(try await verify(both, policy).signal.subject == subject)
            // With only one of the two claims there is no choice.
            let sidAlone = try key.sign(claims: try claims([("sub", nil)]), type: "logout+jwt")
            #expect(try await verify(sidAlone, policy).signal.subject == .session(session))
            let subAlone = try key.sign(claims: try claims([("sid", nil)]), type: "logout+jwt")
            #expect(try await verify(subAlone, policy).signal.subject == .user(user))
        }
        #expect(try await outcome(LogoutPolicy(), ("sub", nil)) == .verified)
    }

    // L-02
    @Test func signatureAndKey() async throws {
        let good = try claims()
        #expect(await outcome(try key.sign(claims: good, type: "logout+jwt") + "A") != .verified)
        let forged = try TestKey(.es256, keyID: "test-ES256")
        #expect(await outcome(try forged.sign(claims: good, type: "logout+jwt")) == .refused(.badSignature))
        let stranger = try TestKey(.es256, keyID: "stranger")
        #expect(await outcome(try stranger.sign(claims: good, type: "logout+jwt")) == .refused(.unknownKey))
        let es384 = try TestKey.shared(.es384)
        #expect(await outcome(try es384.sign(claims: good, type: "logout+jwt")) == .refused(.algorithmNotAllowed))
        let payload = #"{"iss":"https://idp.example.com"}"#
        for header in [#"{"alg":"none"}"#, #"{"alg":"HS256","kid":"test-ES256"}"#] {
            #expect(await outcome(try key.sign(header: header, payload: payload)) == .refused(.algorithmNotAllowed))
        }
        let critical = #"{"alg":"ES256","kid":"test-ES256","crit":["exp"]}"#
        #expect(await outcome(try key.sign(header: critical, payload: payload)) == .refused(.headerRefused))
        for text in ["x", "a.b.c", "a.b.c.d.e", "..", String(repeating: "A", count: 20_000)] {
            #expect(await outcome(text) == .refused(.malformed))
        }
    }

    /// A logout token needs a current key, although an old id_token would still be valid.
    @Test func aKeyThatHasLeftTheSet() async throws {
        let successor = try TestKey(.es256, keyID: "successor")
        let token = try key.sign(claims: try claims(), type: "logout+jwt")
        #expect(await outcome(token) == .verified)
        try fetcher.answer([successor])
        provider.advance(by: 30)
        // A token signed with the new key makes the broker fetch the key set again.
        #expect(await outcome(try successor.sign(claims: try claims(), type: "logout+jwt")) == .verified)
        #expect(await outcome(token) == .refused(.keyRetired))
        #expect(await provider.outcome(try provider.idToken(key)) == .verified)
        provider.archive.revoke(successor)
        await provider.keys.reloadArchive("changed")
        let revoked = try successor.sign(claims: try claims(), type: "logout+jwt")
        #expect(await outcome(revoked) == .refused(.keyRevoked))
    }

    @Test func withoutAKeySetNothingIsRefused() async throws {
        let lost = TestProvider(ScriptedFetcher(.status(500)))
        let validator = LogoutTokenValidator([
            .init(issuer: lost.keys.issuer, keys: lost.keys, algorithms: [.es256], policy: LogoutPolicy())
        ])
        let token = try key.sign(claims: try claims(), type: "logout+jwt")
        await #expect {
            _ = try await validator.verify(LogoutToken(token), at: lost.wallClock.now)
        } throws: { error in
            if case .outage(let outage) = error as? LogoutError { outage.component == .identityProvider } else { false }
        }
    }

    // L-03, L-11
    @Test(arguments: [nil, "JWT", "jwt", "application/jwt"])
    func theTypeOfAnIDToken(_ type: String?) async throws {
        let token = try key.sign(claims: try claims(), type: type)
        #expect(await outcome(token) == .refused(.wrongType))
        #expect(await outcome(token, LogoutPolicy(allowsJWTType: true)) == .verified)
    }

    @Test(arguments: ["at+jwt", "secevent+jwt", "dpop+jwt", "logout+jwt ", "logout"])
    func otherTypes(_ type: String) async throws {
        let token = try key.sign(claims: try claims(), type: type)
        #expect(await outcome(token, LogoutPolicy(allowsJWTType: true)) == .refused(.wrongType))
    }

    // L-11: an id_token is not a logout token, even if the policy accepts `typ` JWT.
    @Test func anIDToken() async throws {
        let token = String(decoding: try provider.idToken(key).octets, as: UTF8.self)
        #expect(await outcome(token) == .refused(.wrongType))
        #expect(await outcome(token, LogoutPolicy(allowsJWTType: true)) == .refused(.events))
    }

    // L-04
    @Test func issuer() async throws {
        for value: JSONValue? in [
            nil, .string("https://other.example.com"), .string("https://idp.example.com/"), .number(JSONNumber(1)),
        ] {
            #expect(try await outcome(LogoutPolicy(), ("iss", value)) == .refused(.issuer))
        }
    }

    // L-04
    @Test(arguments: [nil, "1", "[]", #""""#, #"["app-one",1]"#, "{}"])
    func audience(_ value: String?) async throws {
        #expect(try await outcome(LogoutPolicy(), ("aud", try value.map(json))) == .refused(.audience))
    }

    // L-05
    @Test func issuedAt() async throws {
        for offset: Int64 in [-361, 61, -90_000] {
            #expect(
                try await outcome(LogoutPolicy(), ("iat", time(offset)), ("exp", time(offset + 120)))
                    == .refused(.issuedAt))
        }
        for value: JSONValue? in [nil, .string("1795000000"), .null] {
            #expect(try await outcome(LogoutPolicy(), ("iat", value)) == .refused(.issuedAt))
        }
        #expect(try await outcome(LogoutPolicy(), ("iat", time(60))) == .verified)
        #expect(try await outcome(LogoutPolicy(), ("iat", time(-299)), ("exp", time(1))) == .verified)
        #expect(try await outcome(LogoutPolicy(), ("nbf", time(61))) == .refused(.notBefore))
    }

    // L-05
    @Test func expiry() async throws {
        for (issuedAt, expiresAt): (Int64, Int64) in [(-300, -60), (0, 301), (0, 0), (0, -1), (0, 86_400)] {
            let outcome = try await outcome(LogoutPolicy(), ("iat", time(issuedAt)), ("exp", time(expiresAt)))
            #expect(outcome == .refused(.expiry), "\(issuedAt) \(expiresAt)")
        }
        #expect(try await outcome(LogoutPolicy(), ("exp", time(300))) == .verified)
        #expect(try await outcome(LogoutPolicy(), ("iat", time(-300)), ("exp", time(-59))) == .verified)
        #expect(try await outcome(LogoutPolicy(), ("exp", nil)) == .refused(.expiry))
    }

    @Test func withoutExpiry() async throws {
        let lenient = LogoutPolicy(allowsMissingExpiry: true)
        #expect(try await outcome(lenient, ("exp", nil)) == .verified)
        #expect(try await outcome(lenient, ("exp", nil), ("iat", time(-361))) == .refused(.issuedAt))
        // An `exp` that is present still counts.
        #expect(try await outcome(lenient, ("iat", time(-300)), ("exp", time(-60))) == .refused(.expiry))
        #expect(try await outcome(lenient, ("exp", .null)) == .refused(.expiry))
    }

    // L-06
    @Test func whoIsMeant() async throws {
        #expect(try await outcome(LogoutPolicy(), ("sub", nil), ("sid", nil)) == .refused(.subjectMissing))
        for value: JSONValue in [
            .string(""), .null, .number(JSONNumber(7)), .string(String(repeating: "x", count: 256)),
        ] {
            #expect(try await outcome(LogoutPolicy(), ("sid", value)) == .refused(.sessionID))
            #expect(try await outcome(LogoutPolicy(), ("sub", value)) == .refused(.subject))
        }
    }

    // L-07
    @Test(arguments: [
        nil, "{}", "[]", #""http://schemas.openid.net/event/backchannel-logout""#,
        #"{"http://schemas.openid.net/event/backchannel-logout":true}"#,
        #"{"http://schemas.openid.net/event/backchannel-logout/":{}}"#,
    ])
    func events(_ value: String?) async throws {
        #expect(try await outcome(LogoutPolicy(), ("events", try value.map(json))) == .refused(.events))
    }

    // L-08
    @Test func nonce() async throws {
        for value: JSONValue in [.string("x"), .string(""), .null] {
            #expect(try await outcome(LogoutPolicy(), ("nonce", value)) == .refused(.nonce))
        }
    }

    // L-09
    @Test func tokenID() async throws {
        for value: JSONValue? in [
            nil, .string(""), .number(JSONNumber(1)), .string(String(repeating: "j", count: 256)),
        ] {
            #expect(try await outcome(LogoutPolicy(), ("jti", value)) == .refused(.tokenID))
        }
        #expect(try await outcome(LogoutPolicy(), ("jti", .string(String(repeating: "j", count: 255)))) == .verified)
    }
}
