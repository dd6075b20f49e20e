import BrokerTesting
import JOSE
import StrictCoding

/// The keys of both issuers, of the attacker, and those that lie in the first issuer's JWKS and must not be used.
struct FixtureKeys: Sendable {
    /// What the issuer signs with. There are two for ES256, so that a token has to say which.
    let es256: TestKey
    private let secondES256: TestKey
    let rs256: TestKey
    /// Published, but the issuer may not use the algorithm.
    let es384: TestKey
    /// `use` is `enc`.
    let encryption: TestKey
    /// `key_ops` is `["sign"]`.
    let otherOperations: TestKey
    /// Leaves the JWKS: ``Fixture/giveUpKeys()``.
    let retired: TestKey
    /// An operator revokes it.
    let revoked: TestKey
    let otherIssuer: TestKey
    let attacker: TestKey
    /// Of clients that sign assertions.
    let signer: TestKey
    let otherSigner: TestKey
    /// Of the app that shows one.
    let bound: TestKey

    init() throws {
        es256 = try TestKey(.es256, keyID: "first")
        secondES256 = try TestKey(.es256, keyID: "second")
        rs256 = try TestKey.shared(.rs256).renamed("rsa")
        es384 = try TestKey(.es384, keyID: "curve-384")
        encryption = try TestKey(.es256, keyID: "encryption")
        otherOperations = try TestKey(.es256, keyID: "operations")
        retired = try TestKey(.es256, keyID: "retired")
        revoked = try TestKey(.es256, keyID: "revoked")
        otherIssuer = try TestKey(.es256, keyID: "other-issuer")
        attacker = try TestKey(.es256, keyID: "attacker")
        signer = try TestKey(.es256, keyID: "signer")
        otherSigner = try TestKey(.es256, keyID: "other-signer")
        bound = try TestKey(.es256, keyID: nil)
    }

    /// The first issuer's JWKS, with entries that no token may be verified with.
    /// - Parameter withRetired: Whether it still has ``retired``.
    func document(withRetired: Bool) throws -> [UInt8] {
        var encryptionKey = encryption.publicKey.json
        encryptionKey["use"] = .string("enc")
        var operationsKey = otherOperations.publicKey.json
        operationsKey["use"] = nil
        operationsKey["key_ops"] = .array([.string("sign")])
        var weak = rs256.publicKey.json
        weak["kid"] = .string("weak")
        weak["n"] = .string(Base64URL.encode([0xC5] + [UInt8](repeating: 0x5B, count: 127)))
        var exponentOne = rs256.publicKey.json
        exponentOne["kid"] = .string("exponent-one")
        exponentOne["e"] = .string("AQ")
        let keys = [es256, secondES256, rs256, es384, revoked] + (withRetired ? [retired] : [])
        let usable = keys.map(\.publicKey.json)
        let all = usable + [encryptionKey, operationsKey, weak, exponentOne]
        return JSONObject(["keys": .array(all.map(JSONValue.object))]).octets
    }
}
