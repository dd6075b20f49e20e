import BrokerTesting
import JOSE
import StrictCoding
import Testing

/// Tokens from and for PyJWT, which shares no code with this implementation.
@Suite struct IndependentImplementationTests {
    @Test(arguments: [SignatureAlgorithm.rs256, .rs384, .rs512, .es256, .es384, .es512, .edDSA, .ps256, .ps384, .ps512])
    func pyJWTReadsWhatTestKeysSign(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm)
        let keys = try TestKey.document([key])
        let token = try key.sign(claims: try JSONObject(#"{"sub":"alice"}"#))
        #expect(try PyJWT.claims(of: token, by: keys).string("sub") == "alice")
        let refusal = #expect(throws: PyJWT.Refusal.self) {
            try PyJWT.claims(of: token.dropLast(4) + "AAAA", by: keys)
        }
        #expect(refusal?.errors.contains("InvalidSignatureError") == true)
    }

    @Test(arguments: [SignatureAlgorithm.es256, .edDSA, .rs256, .rs512, .ps256])
    func whatPyJWTSignsIsReadHere(algorithm: SignatureAlgorithm) throws {
        let (token, document) = try PyJWT.sign(algorithm, claims: #"{"sub":"bob"}"#)
        let keys = try JSONWebKeySet(document: document)
        let verified = try CompactJWS(token).verified(by: keys, allowing: [algorithm])
        #expect(verified.claims.string("sub") == "bob" && verified.header.keyID == "k")
        #expect(throws: JWSError.badSignature) {
            try CompactJWS(token.dropLast(4) + "AAAA").verified(by: keys, allowing: [algorithm])
        }
    }
}
