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

    init() throws {
        key = try TestKey.shared(.es256)
        provider = TestProvider(try ScriptedFetcher([key]))
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

    @Test(arguments: ["at+jwt", "secevent+jwt", "logout+jwt ", "logout"])
    func otherTypes(_ type: String) async throws {
        let token = try key.sign(claims: try claims(), type: type)
        #expect(await outcome(token, LogoutPolicy(allowsJWTType: true)) == .refused(.wrongType))
    }

    // L-11: an id_token is not a logout token, even if the policy accepts `typ` JWT.
    @Test func anIDToken() async throws {
        let token = String(decoding: try provider.idToken(key).octets, as: UTF8.self)
        #expect(await outcome(token, LogoutPolicy(allowsJWTType: true)) == .refused(.events))
    }

    /// What the abuse catalogue does not send: members of a claim, edges of lengths.
    private static let rows: [(claim: String, json: String, refusal: LogoutRefusal?)] = [
        ("iss", "1", .issuer), ("aud", "1", .audience), ("aud", #""""#, .audience), ("aud", "{}", .audience),
        ("aud", #"["app-one",1]"#, .audience), ("iat", #""1795000000""#, .issuedAt), ("iat", "null", .issuedAt),
        ("nbf", "1795000061", .notBefore), ("sid", #""""#, .sessionID), ("sid", "null", .sessionID),
        ("sid", text(256), .sessionID), ("sub", "null", .subject), ("sub", "7", .subject), ("sub", text(256), .subject),
        ("events", "[]", .events), ("events", #""http://schemas.openid.net/event/backchannel-logout""#, .events),
        ("events", #"{"http://schemas.openid.net/event/backchannel-logout/":{}}"#, .events),
        ("nonce", #""""#, .nonce), ("nonce", "null", .nonce), ("jti", #""""#, .tokenID), ("jti", text(255), nil),
    ]

    private static func text(_ count: Int) -> String { "\"\(String(repeating: "x", count: count))\"" }

    @Test(arguments: rows.indices) func claim(_ index: Int) async throws {
        let (claim, text, refusal) = Self.rows[index]
        let expected = refusal.map { Outcome.refused($0) } ?? .verified
        #expect(try await outcome(LogoutPolicy(), (claim, try json(text))) == expected, "\(claim) \(text.prefix(40))")
    }

    // L-05
    @Test(
        arguments: [
            (-361, -241, .issuedAt), (61, 181, .issuedAt), (60, 120, nil), (-299, 1, nil), (0, 300, nil),
            (0, 301, .expiry), (0, 0, .expiry), (0, -1, .expiry), (-300, -60, .expiry), (-300, -59, nil),
        ] as [(Int64, Int64, LogoutRefusal?)])
    func times(issuedAt: Int64, expiresAt: Int64, refusal: LogoutRefusal?) async throws {
        let expected = refusal.map { Outcome.refused($0) } ?? .verified
        #expect(
            try await outcome(LogoutPolicy(), ("iat", time(issuedAt)), ("exp", time(expiresAt))) == expected)
    }

    @Test func withoutExpiry() async throws {
        let lenient = LogoutPolicy(allowsMissingExpiry: true)
        #expect(try await outcome(lenient, ("exp", nil)) == .verified)
        #expect(try await outcome(lenient, ("exp", nil), ("iat", time(-361))) == .refused(.issuedAt))
        // An `exp` that is present still counts.
        #expect(try await outcome(lenient, ("iat", time(-300)), ("exp", time(-60))) == .refused(.expiry))
        #expect(try await outcome(lenient, ("exp", .null)) == .refused(.expiry))
    }
}
