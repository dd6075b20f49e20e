import BrokerTesting
import Glibc
import JOSE
import StrictCoding
import Testing

@Suite struct CompactJWSTests {
    private static let claims = #"{"sub":"248289761001"}"#

    @Test(arguments: SignatureAlgorithm.allCases)
    func acceptsEachAlgorithm(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm)
        let token = try CompactJWS(try key.sign(claims: try JSONObject(Self.claims)))
        #expect(token.header.algorithm == algorithm)
        #expect(token.header.keyID == key.keyID)
        let verified = try token.verified(by: try JSONWebKeySet([key.publicKey]), allowing: [algorithm])
        #expect(verified.claims.string("sub") == "248289761001")
        #expect(verified.key == key.publicKey)
        #expect(throws: JWSError.algorithmNotAllowed) {
            let others = Set(SignatureAlgorithm.allCases.filter { !$0.isSame(as: algorithm) })
            _ = try token.verified(by: try JSONWebKeySet([key.publicKey]), allowing: others)
        }
    }

    /// A caller may read the unverified issuer and subject to find the keys.
    @Test func theSubjectAsItWasSent() throws {
        let (key, liar) = (try TestKey.shared(.es256), try TestKey(.es256, keyID: "test-ES256"))
        #expect(try CompactJWS(try liar.sign(claims: try JSONObject(Self.claims))).unverifiedSubject == "248289761001")
        for payload in ["[]", "{}", #"{"sub":7}"#, #"{"sub":"a","sub":"b"}"#, "x"] {
            let token = try CompactJWS(try key.sign(header: #"{"alg":"ES256"}"#, payload: payload))
            #expect(token.unverifiedSubject == nil)
        }
    }

    /// A key serves one algorithm. It refuses a valid signature under another algorithm of its family (RFC 8725 §3.1).
    @Test(arguments: SignatureAlgorithm.allCases)
    func noOtherAlgorithmUnderTheSameKey(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm)
        for other in SignatureAlgorithm.allCases where !other.isSame(as: algorithm) {
            var header = key.header()
            header["alg"] = .string(other.rawValue)
            let token = try CompactJWS(try key.sign(header: header, payload: JSONObject(), algorithm: other))
            #expect(throws: JWSError.keyDoesNotFitAlgorithm) {
                try token.verified(by: try JSONWebKeySet([key.publicKey]), allowing: [other])
            }
            #expect(throws: JWSError.keyDoesNotFitAlgorithm) { try token.verified(by: key.publicKey) }
        }
    }

    @Test(arguments: [
        ("", JWSError.notCompact), ("a", .notCompact), ("a.b", .notCompact), ("a.b.c.d", .notCompact),
        ("a.b.c.d.e.f", .notCompact), ("a.b.c.d.e", .encrypted), ("....", .encrypted), (".b.c", .emptySegment),
        ("a..c", .emptySegment), ("a.b.", .emptySegment), ("..", .emptySegment), ("a.b", .notCompact),
        (#"{"payload":"e30","protected":"e30","signature":"AA"}"#, .notCompact),
    ])
    func refusesOtherForms(text: String, error: JWSError) {
        #expect(throws: error) { try CompactJWS(text) }
    }

    @Test func refusesWhatIsNotCanonicalBase64URL() throws {
        let token = try TestKey.shared(.es256).sign(claims: try JSONObject(Self.claims))
        _ = try CompactJWS(token)
        let parts = token.split(separator: ".").map(String.init)
        for position in 0..<3 {
            for change in ["=", " ", "\n", "+", "/", "%", "é", "A", "\u{0}"] {
                var changed = parts
                changed[position] += change
                // One more character makes an impossible length or changes the signed octets.
                let text = changed.joined(separator: ".")
                #expect(throws: JWSError.self, "\(position) \(change)") {
                    try CompactJWS(text).verified(by: try TestKey.shared(.es256).publicKey)
                }
            }
        }
        // The last character of an ES256 signature carries two bits. The parser refuses the other 15 of its group.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let accepted = alphabet.filter { (try? CompactJWS(token.dropLast() + String($0))) != nil }
        #expect(accepted == ["A", "Q", "g", "w"])
    }

    @Test func limitsAreThoseOfTheCaller() throws {
        let key = try TestKey.shared(.es256)
        let long = try key.sign(
            header: #"{"alg":"ES256","x":"\#(String(repeating: "a", count: 2048))"}"#, payload: "{}")
        #expect(throws: JWSError.tooLong) { try CompactJWS(long) }
        _ = try CompactJWS(long, limits: .init(header: 4096))
        let claims = #"{"a":"\#(String(repeating: "a", count: 12 << 10))"}"#
        let large = try key.sign(header: #"{"alg":"ES256"}"#, payload: claims)
        #expect(throws: JWSError.tooLong) { try CompactJWS(large) }
        #expect(throws: JWSError.tooLong) { try CompactJWS(large, limits: .init(payload: 20_000)) }
        _ = try CompactJWS(large, limits: .init(token: 20_000, payload: 20_000))
        #expect(throws: JWSError.tooLong) {
            try CompactJWS("eyJhbGciOiJFUzI1NiJ9.e30." + String(repeating: "A", count: 8_000))
        }
    }

    /// A million dots, and as many dots as the limit allows, cost next to nothing.
    @Test func dotBomb() {
        let million = String(repeating: ".", count: 1_000_000)
        // Takes the fastest of a few runs and counts only this thread: the machine may be busy.
        let duration = (0..<5).map { _ in
            let before = Self.threadTime()
            #expect(throws: JWSError.tooLong) { try CompactJWS(million) }
            #expect(throws: JWSError.notCompact) { try CompactJWS(million.prefix(16 << 10).utf8) }
            return Self.threadTime() - before
        }.min()
        #expect(duration ?? .seconds(1) < .milliseconds(5))
    }

    /// The CPU time of the calling thread.
    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func claimsMustBeAStrictObject() throws {
        let key = try TestKey.shared(.es256)
        for payload in ["[]", "[{}]", "null", "7", "\"{}\"", "true"] {
            let token = try CompactJWS(try key.sign(header: #"{"alg":"ES256"}"#, payload: payload))
            #expect(throws: JWSError.payloadNotObject) { try token.verified(by: key.publicKey) }
        }
        for payload in [
            "", "{", "{}{}", #"{"sub":"a","sub":"b"}"#, #"{"sub":"a","s\u0075b":"b"}"#, "{\"sub\":\"\u{0}\"}",
            "\u{FEFF}{}",
        ] {
            #expect(throws: JWSError.self) {
                try CompactJWS(try key.sign(header: #"{"alg":"ES256"}"#, payload: payload)).verified(by: key.publicKey)
            }
        }
    }

    /// The verifier finds a bad signature before it parses the payload: a sender without a key cannot reach the parser.
    @Test func signatureComesBeforeClaims() throws {
        let key = try TestKey.shared(.es256)
        let other = try TestKey(.es256, keyID: key.keyID)
        let token = try CompactJWS(try other.sign(header: #"{"alg":"ES256"}"#, payload: "not json"))
        #expect(throws: JWSError.badSignature) { try token.verified(by: key.publicKey) }
    }
}
