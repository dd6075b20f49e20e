import BrokerTesting
import Crypto
import OAuthWire
import StrictCoding

/// One login at the identity provider.
struct Login: Sendable {
    let sid: String
    let subject: String
    /// The `device_id` of the device that it was made on.
    let device: String

    /// A login unknown to the broker.
    static func new() -> Login {
        Login(sid: unguessable(), subject: "user-" + unguessable(), device: unguessable())
    }

    /// The user of a login, derived from its session.
    static func subject(of sid: String) -> String { "user-" + sid }

    /// 22 base64url characters: 128 bits.
    private static func unguessable() -> String {
        var generator = SystemRandomNumberGenerator()
        let (a, b) = (generator.next() as UInt64, generator.next() as UInt64)
        return Base64URL.encode(withUnsafeBytes(of: (a, b)) { Array($0) })
    }

    /// The claims of its id_token.
    func claims(at now: Int64) -> JSONObject {
        JSONObject([
            "iss": .string(SampleApps.issuer), "sub": .string(subject), "aud": .string(SampleApps.source),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 86_400)),
            "auth_time": .number(JSONNumber(now)), "sid": .string(sid),
            "di_hash": .string(Base64URL.encode(Array(SHA256.hash(data: Array(device.utf8)))[..<16])),
        ])
    }
}

/// Logins whose exchanges lie ready: all of the form but the `client_id`, one behind the other, each of the same length.
struct SignedLogins: Sendable {
    let count: Int
    private let forms: [UInt8]
    let formLength: Int

    struct UnequalLength: Error {}

    /// Signs their id_tokens, on all processors: with RS256 each takes a good part of a millisecond.
    static func make(_ logins: [Login], key: TestKey, at now: Int64) async throws -> SignedLogins {
        let forms = try await inPortions(of: logins.count) { numbers in
            try logins[numbers].flatMap { try form($0, key: key, at: now) }
        }
        guard !logins.isEmpty, forms.count.isMultiple(of: logins.count) else { throw UnequalLength() }
        return SignedLogins(count: logins.count, forms: forms, formLength: forms.count / logins.count)
    }

    private static func form(_ login: Login, key: TestKey, at now: Int64) throws -> [UInt8] {
        FormEncoder.encode([
            Parameter.grantType: GrantType.tokenExchange.rawValue,
            Parameter.audience: SampleApps.issuer,
            Parameter.subjectToken: try key.sign(claims: login.claims(at: now)),
            Parameter.subjectTokenType: TokenTypeURI.idToken.rawValue,
            Parameter.actorToken: login.device,
            Parameter.actorTokenType: TokenTypeURI.deviceID.rawValue,
        ])
    }

    subscript(login: Int) -> ArraySlice<UInt8> { forms[login * formLength..<(login + 1) * formLength] }

    /// What goes before each form of an app.
    func heads(_ apps: [String]) -> [[UInt8]] {
        apps.map { app in
            let client = FormEncoder.encode([Parameter.clientID: app]) + [UInt8(ascii: "&")]
            return TokenRequest.head(bodyLength: client.count + formLength) + client
        }
    }
}

/// What the work makes of all numbers below `count`, in their order. All processors work, each on a portion at a time.
func inPortions<Element: Sendable>(
    of count: Int, _ work: @escaping @Sendable (Range<Int>) throws -> [Element]
) async throws -> [Element] {
    let size = max(1, (count + 31) / 32)
    let portions = try await atOnce((count + size - 1) / size) { number in
        try (number, work(number * size..<min((number + 1) * size, count)))
    }
    return portions.sorted { $0.0 < $1.0 }.flatMap { $0.1 }
}

/// Requests to the token endpoint.
enum TokenRequest {
    /// - Parameter fields: More lines of the head, each with its end.
    static func head(bodyLength: Int, fields: String = "") -> [UInt8] {
        Array(
            ("POST /token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                + "Content-Length: \(bodyLength)\r\n\(fields)\r\n").utf8)
    }
}
