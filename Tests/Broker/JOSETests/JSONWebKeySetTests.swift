import BrokerTesting
import JOSE
import StrictCoding
import Testing

@Suite struct JSONWebKeySetTests {
    private func document(_ entries: [JSONObject]) -> [UInt8] {
        JSONObject(["keys": .array(entries.map(JSONValue.object))]).octets
    }

    // W-06
    @Test(arguments: [
        ("{}", JSONWebKeySetError.noKeys), (#"{"keys":null}"#, .noKeys), (#"{"keys":{}}"#, .noKeys), ("[]", .noKeys),
        (#"{"keys":[]}"#, .noUsableKey), (#"{"keys":[null,1,{}]}"#, .noUsableKey), (#"{"Keys":[]}"#, .noKeys),
        ("<html></html>", .notJSON(.unexpectedByte(offset: 0))), (#"{"keys":["#, .notJSON(.unexpectedEnd)),
        ("", .notJSON(.unexpectedEnd)), (#"{"keys":[],"keys":[]}"#, .notJSON(.duplicateName(offset: 11))),
    ])
    func garbage(text: String, error: JSONWebKeySetError) {
        #expect(throws: error) { try JSONWebKeySet(document: Array(text.utf8)) }
    }

    @Test func limits() throws {
        #expect(throws: JSONWebKeySetError.tooLarge) {
            try JSONWebKeySet(document: [UInt8](repeating: 0x20, count: 256 << 10) + Array(#"{"keys":[]}"#.utf8))
        }
        let key = try TestKey.shared(.ed25519)
        func many(_ count: Int) throws -> [UInt8] {
            document(try (0..<count).map { try key.renamed("k\($0)").publicKey.json })
        }
        #expect(try JSONWebKeySet(document: try many(64)).keys.count == 64)
        #expect(throws: JSONWebKeySetError.tooManyKeys) { try JSONWebKeySet(document: try many(65)) }
    }

    @Test func skipsAndCountsWhatItCannotUse() throws {
        let good = try TestKey.shared(.es256)
        var encryption = try TestKey.shared(.rs256).publicKey.json
        encryption["use"] = .string("enc")
        encryption["alg"] = .string("RSA-OAEP")
        let unknown = try JSONObject(#"{"kty":"AKP","alg":"ML-DSA-44","pub":"AA","kid":"pq"}"#)
        let symmetric = try JSONObject(#"{"kty":"oct","k":"AAAA","kid":"\#(good.keyID ?? "")"}"#)
        var leaked = try TestKey.shared(.es384).publicKey.json
        leaked["d"] = .string("AAAA")
        let set = try JSONWebKeySet(document: document([encryption, good.publicKey.json, unknown, symmetric, leaked]))
        #expect(set.keys == [good.publicKey])
        #expect(
            set.skipped.sorted { $0.key < $1.key }.map(\.value) == [
                .notForVerification, .unsupportedKeyType, .privateKey, .privateKey,
            ])
    }

    // W-09: the order of the document never decides between two keys.
    @Test func twoKeysByOneName() throws {
        let one = try TestKey.shared(.es256).renamed("1")
        let two = try TestKey(.es256, keyID: "1")
        #expect(throws: JSONWebKeySetError.ambiguousKeyID) {
            try JSONWebKeySet(document: document([one.publicKey.json, two.publicKey.json]))
        }
        var anyRSA = try TestKey(.rs256, keyID: "1").publicKey.json
        anyRSA["alg"] = nil
        let ps256 = try TestKey.shared(.ps256).renamed("1")
        #expect(throws: JSONWebKeySetError.ambiguousKeyID) {
            try JSONWebKeySet(document: document([ps256.publicKey.json, anyRSA]))
        }
        #expect(
            try JSONWebKeySet(document: document([one.publicKey.json, one.publicKey.json])).keys == [one.publicKey])
    }

    @Test func oneNameForTwoAlgorithmsIsToldApartByAlgorithm() throws {
        let ec = try TestKey.shared(.es256).renamed("1")
        let rsa = try TestKey.shared(.rs256).renamed("1")
        let set = try JSONWebKeySet([ec.publicKey, rsa.publicKey])
        for key in [ec, rsa] {
            let token = try CompactJWS(try key.sign(claims: JSONObject()))
            #expect(try token.verified(by: set, allowing: [.es256, .rs256]).key == key.publicKey)
        }
    }

    // J-11
    @Test func withoutAKeyIDOnlyTheOneKeyForTheAlgorithm() throws {
        let es256 = try TestKey.shared(.es256)
        let es384 = try TestKey.shared(.es384)
        let anonymous = try es256.renamed(nil)
        let token = try CompactJWS(try anonymous.sign(claims: JSONObject()))
        #expect(try JSONWebKeySet([es256.publicKey, es384.publicKey]).key(for: token.header) == es256.publicKey)
        let second = try TestKey(.es256, keyID: "second")
        #expect(throws: JWSError.ambiguousKey) {
            try JSONWebKeySet([es256.publicKey, second.publicKey]).key(for: token.header)
        }
        #expect(throws: JWSError.unknownKey) { try JSONWebKeySet([es384.publicKey]).key(for: token.header) }
    }

    /// A key without `kid` never matches a `kid` in the token.
    @Test func keyIDMustMatch() throws {
        let key = try TestKey.shared(.es256)
        let token = try CompactJWS(try key.sign(claims: JSONObject()))
        #expect(throws: JWSError.unknownKey) {
            try JSONWebKeySet([try key.renamed(nil).publicKey]).key(for: token.header)
        }
        #expect(throws: JWSError.keyDoesNotFitAlgorithm) {
            try JSONWebKeySet([try TestKey.shared(.es384).renamed(key.keyID).publicKey]).key(for: token.header)
        }
    }

    // W-11
    @Test func aKeyWithoutAlgorithmIsStillBoundByTheAllowList() throws {
        let rsa = try TestKey.shared(.rs512)
        var json = rsa.publicKey.json
        json["alg"] = nil
        let set = try JSONWebKeySet(document: document([json]))
        let token = try CompactJWS(try rsa.sign(claims: JSONObject()))
        #expect(throws: JWSError.algorithmNotAllowed) { try token.verified(by: set, allowing: [.rs256]) }
        _ = try token.verified(by: set, allowing: [.rs512])
    }

    @Test func documentIsReadBack() throws {
        let keys = try SignatureAlgorithm.allCases.map { try TestKey.shared($0) }
        let set = try JSONWebKeySet(document: try TestKey.document(keys))
        #expect(set.keys == keys.map(\.publicKey))
        #expect(set.skipped.isEmpty)
    }
}
