import JOSE
import StrictCoding
import Testing

/// The examples of RFC 7515, 7638 and 8037, and id_tokens that another implementation signed.
@Suite struct PublishedVectorTests {
    @Test func examplesOfTheRFCs() throws {
        for vector in try #require(try VectorFile.own("rfc").array) {
            let vector = try #require(vector.object)
            let source = vector.string("source") ?? ""
            let key = try JSONWebKey(try #require(vector.object("jwk")))
            if let thumbprint = vector.string("thumbprint") {
                #expect(Base64URL.encode(key.thumbprint) == thumbprint, "\(source)")
            }
            guard let text = vector.string("jws") else { continue }
            let token = try CompactJWS(text)
            let algorithm = token.header.algorithm
            #expect(key.verifies(token.signature, of: token.signingInput, algorithm: algorithm), "\(source)")
            for index in token.signature.indices {
                var signature = token.signature
                signature[index] ^= 1
                #expect(!key.verifies(signature, of: token.signingInput, algorithm: algorithm), "\(source)")
            }
            #expect(
                !key.verifies(token.signature, of: token.signingInput.dropLast(), algorithm: algorithm), "\(source)")
        }
    }

    @Test func claimsOfRFC7515() throws {
        let vector = try #require(try VectorFile.own("rfc").array?[1].object)
        let key = try JSONWebKey(try #require(vector.object("jwk")))
        let claims = try CompactJWS(try #require(vector.string("jws"))).verified(by: key).claims
        #expect(claims.names == ["iss", "exp", "http://example.com/is_root"])
        #expect(claims.number("exp")?.wholeSeconds == 1_300_819_380)
        let notClaims = try #require(try VectorFile.own("rfc").array?[2].object)
        let otherKey = try JSONWebKey(try #require(notClaims.object("jwk")))
        let token = try CompactJWS(try #require(notClaims.string("jws")))
        #expect(throws: JWSError.payloadNotJSON(.unexpectedByte(offset: 0))) { try token.verified(by: otherKey) }
    }

    @Test func signedIDTokens() throws {
        let file = try #require(try VectorFile.own("id-tokens").object)
        let published = try #require(file.object("jwks"))
        let keys = try JSONWebKeySet(document: published.octets)
        #expect(keys.keys.count == 5)
        for key in keys.keys {
            #expect(Base64URL.encode(key.thumbprint) == file.object("thumbprints")?.string(key.keyID ?? ""))
        }
        let tokens = try #require(file.array("id_tokens"))
        #expect(!tokens.isEmpty)
        for vector in tokens {
            let vector = try #require(vector.object)
            let algorithm = try #require(SignatureAlgorithm(name: vector.string("alg") ?? ""))
            let token = try CompactJWS(try #require(vector.string("jwt")))
            #expect(try token.verified(by: keys, allowing: [algorithm]).claims == vector.object("claims"))
        }
    }
}
