import BrokerTesting
import JOSE
import StrictCoding
import Testing

/// Project Wycheproof's vectors for JWS and JWK. Set `WYCHEPROOF_VECTORS` to the directory that holds the two files.
@Suite(.enabled(if: VectorFile.wycheproofDirectory != nil, "WYCHEPROOF_VECTORS is not set"))
struct WycheproofTests {
    /// Valid vectors that JOSE refuses or cannot use, each with the reason.
    private static let refusedThoughValid = [
        259: "empty payload: an empty segment is not the form of a token with claims",
        264: "empty payload", 268: "empty payload", 272: "empty payload", 320: "empty payload", 325: "empty payload",
        346: "PS384 under a key for PS256", 350: "PS384 under a key for PS256",
        347: "the key's alg is misspelt: ES521", 351: "the key's alg is misspelt: ES521",
    ]

    @Test(arguments: ["json_web_signature_test.json", "json_web_key_test.json"])
    func everyVector(file: String) throws {
        var (accepted, refused) = (0, 0)
        for group in try #require(try VectorFile.wycheproof(file).array("testGroups")) {
            let group = try #require(group.object)
            let published = try #require(group.object("public") ?? group.object("private"))
            let isSymmetric = Self.entries(published).allSatisfy { $0.string("kty") == "oct" }
            for test in try #require(group.array("tests")) {
                let test = try #require(test.object)
                let id = Int(try #require(test.number("tcId")?.int64))
                // These files hold JSON serialisations as objects; a caller could send only their text.
                let token = try test.string("jws") ?? String(decoding: try #require(test["jws"]).octets, as: UTF8.self)
                let accepts = Self.accepts(token, under: published)
                let isValid = test.string("result") == "valid" && !isSymmetric && Self.refusedThoughValid[id] == nil
                #expect(accepts == isValid, "\(file) \(id): \(test.string("comment") ?? "")")
                if accepts { accepted += 1 } else { refused += 1 }
            }
        }
        print("\(file): \(accepted) accepted, \(refused) refused")
        #expect(refused > 0)
        #expect(accepted > 0)
    }

    /// The payloads are not JSON, so the test checks the signature alone.
    private static func accepts(_ text: String, under published: JSONObject) -> Bool {
        let document = JSONObject(["keys": .array(entries(published).map { .object(publicPart(of: $0)) })])
        guard let keys = try? JSONWebKeySet(document: document.octets), let token = try? CompactJWS(text),
            let key = try? keys.key(for: token.header)
        else { return false }
        return key.verifies(token.signature, of: token.signingInput, algorithm: token.header.algorithm)
    }

    private static func entries(_ published: JSONObject) -> [JSONObject] {
        published.array("keys")?.compactMap(\.object) ?? [published]
    }

    /// Some groups give private keys only. The published key is the asymmetric key without its secret.
    private static func publicPart(of key: JSONObject) -> JSONObject {
        var key = key
        for name in ["d", "p", "q", "dp", "dq", "qi"] { key[name] = nil }
        return key
    }
}
