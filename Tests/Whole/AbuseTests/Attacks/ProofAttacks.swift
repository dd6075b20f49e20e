import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness
import Testing

extension Attack {
    /// A DPoP proof that proves nothing. RFC 9449 §4.3.
    @ListBuilder static var proofAttacks: [Attack] {
        Attack("P-03", "more than one proof") {
            Variant(name: "two fields", verdict: .proof("dpop_header_repeated")) { fixture in
                try request(of: fixture, proofs: [fixture.proof().signed(), fixture.proof().signed()])
            }
            Variant(name: "twice the same", verdict: .proof("dpop_header_repeated")) { fixture in
                let proof = try fixture.proof().signed()
                return try request(of: fixture, proofs: [proof, proof])
            }
            Variant(name: "joined by a comma", verdict: .proof("dpop_header_repeated")) { fixture in
                try request(of: fixture, proofs: [fixture.proof().signed() + ", " + fixture.proof().signed()])
            }
            Variant(name: "none", verdict: .proof("dpop_proof_required")) { fixture in
                try request(of: fixture, proofs: [])
            }
        }
        Attack("P-04", "a wrong typ or alg") {
            for type in ["JWT", "at+jwt", "dpop", "dpop+jwt "] {
                proof("typ \(type)", .proof("dpop_wrong_typ")) { $0.header["typ"] = .string(type) }
            }
            proof("no typ", .proof("dpop_wrong_typ")) { $0.header["typ"] = nil }
            for algorithm in ["none", "HS256", "es256", "ES256K"] {
                proof("alg \(algorithm)", .proof("dpop_alg_not_allowed")) { $0.header["alg"] = .string(algorithm) }
            }
            proof("an algorithm that is not the key's", .proof("dpop_alg_not_allowed")) {
                $0.header["alg"] = .string("RS256")
            }
            proof("no signature", .proof("dpop_malformed")) {
                $0.rewritesToken = { $0.split(separator: ".").prefix(2).joined(separator: ".") + "." }
            }
            proof("crit", .proof("dpop_header_refused")) { $0.header["crit"] = .array([.string("exp")]) }
        }
        Attack("P-05", "a key that shows nothing") {
            proof("a private key", .proof("dpop_jwk_private")) { proof in
                proof.header["jwk"] = changed(proof.header["jwk"]) { $0["d"] = .string("AAAA") }
            }
            proof("a symmetric key", .proof("dpop_jwk_private")) {
                $0.header["jwk"] = try JSONText.value(#"{"kty":"oct","k":"AAAA"}"#)
            }
            proof("a weak key", .proof("dpop_jwk_weak")) {
                $0.header["alg"] = .string("RS256")
                let modulus = Base64URL.encode([0xC5] + [UInt8](repeating: 0x5B, count: 127))
                $0.header["jwk"] = try JSONText.value(#"{"kty":"RSA","e":"AQAB","n":"\#(modulus)"}"#)
            }
            proof("by reference", .proof("dpop_jwk")) {
                $0.header["jwk"] = nil
                $0.header["kid"] = .string("first")
            }
            Variant(name: "by address", verdict: .proof("dpop_jwk")) { fixture in
                var proof = fixture.proof()
                proof.header["jwk"] = nil
                proof.header["jku"] = .string(fixture.trap.issuer + "/jwks")
                return try request(of: fixture, proofs: [proof.signed()])
            }
            proof("a point off the curve", .proof("dpop_jwk")) { proof in
                proof.header["jwk"] = changed(proof.header["jwk"]) { $0["x"] = $0["y"] }
            }
            proof("somebody else's", .proof("dpop_bad_signature")) {
                $0.header["jwk"] = .object(TestProof.jwk(of: try TestKey(.es256, keyID: nil)))
            }
        }
        Attack("P-07", "a proof of another time, place or request") {
            for seconds in [-3600, -300, 300, 3600] as [Int64] {
                Variant(name: "\(seconds) s", verdict: .proof("dpop_iat")) { fixture in
                    var proof = fixture.proof()
                    proof.claims["iat"] = .number(JSONNumber(fixture.now + seconds))
                    return try request(of: fixture, proofs: [proof.signed()])
                }
            }
            proof("no iat", .proof("dpop_iat")) { $0.claims["iat"] = nil }
            proof("iat a text", .proof("dpop_iat")) { $0.claims["iat"] = .string("now") }
            proof("no jti", .proof("dpop_jti")) { $0.claims["jti"] = nil }
            proof("a long jti", .proof("dpop_jti")) {
                $0.claims["jti"] = .string(String(repeating: "j", count: 300))
            }
            proof("a nonce that is no text", .proof("dpop_nonce_malformed")) {
                $0.claims["nonce"] = .number(JSONNumber(1))
            }
            proof("htm", .proof("dpop_htm")) { $0.claims["htm"] = .string("GET") }
            for target in ["https://idp.example.test/token", "\(Fixture.broker)/other", "/token", ""] {
                proof("htu \(target)", .proof("dpop_htu")) { $0.claims["htu"] = .string(target) }
            }
            Variant(name: "where the request says it is", verdict: .proof("dpop_htu")) { fixture in
                var proof = fixture.proof()
                proof.claims["htu"] = .string("https://evil.example/token")
                return HTTPRequest.token(
                    try fixture.exchange(by: Fixture.bound).parameters,
                    fields: [("X-Forwarded-Host", "evil.example"), ("DPoP", try proof.signed())]
                )
            }
        }
    }

    /// A good exchange with a bent proof.
    private static func proof(
        _ name: String, _ verdict: Verdict, _ bend: @escaping @Sendable (inout TestProof) throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var proof = fixture.proof()
            try bend(&proof)
            return try request(of: fixture, proofs: [proof.signed()])
        }
    }

    private static func request(of fixture: Fixture, proofs: [String]) throws -> HTTPRequest {
        HTTPRequest.token(
            try fixture.exchange(by: Fixture.bound).parameters, fields: proofs.map { ("DPoP", $0) }
        )
    }

    private static func changed(_ jwk: JSONValue?, _ change: (inout JSONObject) -> Void) -> JSONValue {
        var jwk = jwk?.object ?? JSONObject()
        change(&jwk)
        return .object(jwk)
    }
}
