import BrokerTesting
import JOSE
import StrictCoding

extension Readers {
    /// No key verifies what its owner did not sign, and no wrong key verifies what another one signed.
    static func jws(_ octets: [UInt8]) throws -> Bool {
        guard let token = try? CompactJWS(octets) else { return false }
        let parts = octets.split(separator: UInt8(ascii: "."))
        try hold(
            parts.count == 3 && Array(Base64URL.encode(token.signature).utf8) == Array(parts[2]),
            "one signature has two texts")
        let algorithm = token.header.algorithm
        // ECDSA has a second signature for each (n − s), so that it is what was signed that must be known.
        for example in try SignedExample.all.get() where example.key.supports(algorithm) {
            let isGood = example.key.verifies(token.signature, of: token.signingInput, algorithm: algorithm)
            try hold(!isGood || example.signingInput == Array(token.signingInput), "a forged signature")
        }
        let right = try TestKey.shared(algorithm)
        try hold((try? token.verified(by: right.publicKey)) == nil, "a signature by nobody")
        guard algorithm == .es256 || algorithm == .ed25519 else { return true }  // the others take a millisecond
        let signature = try right.signature(over: token.signingInput)
        try hold(
            right.publicKey.verifies(signature, of: token.signingInput, algorithm: algorithm), "no signature is good")
        for example in try SignedExample.all.get() where example.key.supports(algorithm) {
            try hold(
                !example.key.verifies(signature, of: token.signingInput, algorithm: algorithm),
                "a wrong key verifies")
        }
        return true
    }
}

/// A published token with its key. The holder of the private half signed only this one.
struct SignedExample {
    let key: JSONWebKey
    let signingInput: [UInt8]

    private init(jwk: String, jws: String) throws {
        guard let json = try JSONReader.parse(jwk.utf8).object else { throw JSONWebKeyError.notObject }
        key = try JSONWebKey(json)
        signingInput = Array(try CompactJWS(jws).signingInput)
    }

    static let all = Result {
        [
            // RFC 7515 A.3.
            try SignedExample(
                jwk: #"""
                    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
                    """#,
                jws: "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9p"
                    + "c19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg"
                    + "6NU1Q"),
            // RFC 8037 A.4.
            try SignedExample(
                jwk: #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
                jws: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AI"
                    + "bQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"),
        ]
    }
}
