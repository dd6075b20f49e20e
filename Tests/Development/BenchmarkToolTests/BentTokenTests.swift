import BrokerTesting
import JOSE
import StrictCoding
import Testing

@testable import native_sso_bench

/// A bent token reports which uses it is no longer valid for, and a good token stays valid.
struct BentTokenTests {
    private static let now: Int64 = 1_700_000_000
    private static let samples = 400

    @Test func aProofIsGoodForItsKeyAndTargetAlone() throws {
        let key = try TestKey(.es256, keyID: nil)
        try Self.check(change: ["htu", "htm", "iat", "jti"]) { change, random in
            var made = TestProof(by: key, for: SampleApps.tokenEndpoint, at: Self.now)
            change(&made.claims)
            return try BentToken(made.header, made.claims, by: key, &random)
        } isTaken: {
            $0.proves(key, at: Self.now)
        }
        var random = SeededRandom(seed: 1)
        let stranger = try TestKey(.es256, keyID: nil)
        for _ in 0..<100 {
            let proof = TestProof(by: stranger, for: SampleApps.tokenEndpoint, at: Self.now)
            #expect(!(try BentToken(proof.header, proof.claims, by: stranger, &random).proves(key, at: Self.now)))
        }
    }

    @Test func anAssertionIsGoodForItsClientAlone() throws {
        let key = try TestKey(.es256, keyID: "k")
        try Self.check(change: ["iss", "sub", "aud", "exp", "jti"]) { change, random in
            var claims = JSONObject()
            for name in ["iss", "sub"] { claims[name] = .string("app") }
            claims["aud"] = .string(SampleApps.broker)
            claims["exp"] = .number(JSONNumber(Self.now + 60))
            claims["jti"] = .string("1")
            change(&claims)
            return try BentToken(key.header(type: "client-authentication+jwt"), claims, by: key, &random)
        } isTaken: {
            $0.authenticates("app", at: Self.now)
        }
    }

    @Test func aLogoutTokenIsGoodAsSuchAlone() throws {
        let key = try TestKey(.es256, keyID: "k")
        try Self.check(change: ["iss", "events", "iat", "jti"]) { change, random in
            var (claims, events) = (JSONObject(), JSONObject())
            claims["iss"] = .string(SampleApps.issuer)
            claims["aud"] = .string(SampleApps.source)
            claims["iat"] = .number(JSONNumber(Self.now))
            claims["jti"] = .string("1")
            claims["sid"] = .string("s")
            events["http://schemas.openid.net/event/backchannel-logout"] = .object(JSONObject())
            claims["events"] = .object(events)
            change(&claims)
            return try BentToken(key.header(type: "logout+jwt"), claims, by: key, &random)
        } isTaken: {
            $0.endsSession(at: Self.now)
        }
    }

    @Test func anIDTokenIsGoodForItsUserAlone() throws {
        let (key, login) = (try TestKey(.es256, keyID: "k"), Login.new())
        try Self.check(change: ["iss", "sub"]) { change, random in
            var claims = login.claims(at: Self.now)
            change(&claims)
            return try BentToken(key.header(), claims, by: key, &random)
        } isTaken: {
            $0.subject == login.subject
        }
    }

    /// Good tokens are taken, those that lack what they need are not, and of the bent ones there are both.
    private static func check(
        change names: [String],
        _ make: ((inout JSONObject) -> Void, inout SeededRandom) throws -> BentToken, isTaken: (BentToken) -> Bool
    ) throws {
        var random = SeededRandom(seed: 7)
        var (good, bent, refused) = (0, 0, 0)
        for _ in 0..<samples {
            let token = try make({ _ in }, &random)
            if token.isGood {
                good += 1
                #expect(isTaken(token))
            } else {
                bent += 1
                refused += isTaken(token) ? 0 : 1
            }
        }
        #expect(good > 50 && refused > 50 && refused < bent)
        for name in names {
            for value in [nil, JSONValue.string("x"), .number(JSONNumber(1))] {
                var token = try make({ $0[name] = value }, &random)
                while !token.isGood { token = try make({ $0[name] = value }, &random) }
                #expect(!isTaken(token) || name == "jti" && value?.string != nil, "\(name)")
            }
        }
    }
}
