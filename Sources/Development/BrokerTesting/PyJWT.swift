import ChildProcesses
package import JOSE
package import StrictCoding

/// PyJWT, an implementation of JWS that shares no code with this one: Debian's `python3-jwt`. OpenSSL computes for it.
package enum PyJWT {
    package struct Refusal: Error {
        /// Ends with the name of Python's exception.
        package let errors: String
    }

    /// The claims of a token that a key of this JWKS document signed.
    package static func claims(of token: some StringProtocol, by keySet: [UInt8]) throws -> JSONObject {
        try run(#"{"token":"\#(token)","keys":\#(String(decoding: keySet, as: UTF8.self))}"#)
    }

    /// A token signed with a new key, and the JWKS document that has the key.
    /// - Parameters:
    ///   - header: A JSON object without `alg`. If it has a `jwk`, that becomes the public key.
    ///   - claims: A JSON object.
    package static func sign(
        _ algorithm: SignatureAlgorithm, header: String = "{}", claims: String
    ) throws -> (token: String, keySet: [UInt8]) {
        let made = try run(#"{"alg":"\#(algorithm.rawValue)","header":\#(header),"claims":\#(claims)}"#)
        return (made.string("token") ?? "", Array((made.string("keys") ?? "").utf8))
    }

    private static func run(_ question: String) throws -> JSONObject {
        let run = try ProgramRun(
            ["/usr/bin/python3", "-I", "-c", script], environment: ChildProcess.bareEnvironment, inOwnSession: true,
            input: question, within: .seconds(60))
        guard run.status == 0, let answer = try JSONReader.parse(run.octets).object else {
            throw Refusal(errors: run.errors)
        }
        return answer
    }

    private static let script = """
        import json, sys, jwt
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
        asked = json.load(sys.stdin)
        if "token" in asked:
            header = jwt.get_unverified_header(asked["token"])
            published = next(key for key in asked["keys"]["keys"] if key["kid"] == header["kid"])
            key = jwt.PyJWK(published).key
            answer = jwt.decode(asked["token"], key, [published["alg"]], options={"verify_aud": False})
        else:
            algorithm, header = asked["alg"], asked["header"]
            if algorithm == "EdDSA":
                key = ed25519.Ed25519PrivateKey.generate()
            elif algorithm == "ES256":
                # PyJWT 2.6 writes coordinates without their leading zeros, which RFC 7518, 6.2.1.2, forbids.
                width = 0
                while width <= 248:
                    key = ec.generate_private_key(ec.SECP256R1())
                    numbers = key.public_key().public_numbers()
                    width = min(numbers.x.bit_length(), numbers.y.bit_length())
            else:
                key = rsa.generate_private_key(65537, 2048)
            public = json.loads(jwt.PyJWS().get_algorithm_by_name(algorithm).to_jwk(key.public_key()))
            header |= {"jwk": public} if "jwk" in header else {"kid": "k"}
            keys = json.dumps({"keys": [public | {"alg": algorithm, "kid": "k"}]})
            answer = {"token": jwt.encode(asked["claims"], key, algorithm, header), "keys": keys}
        json.dump(answer, sys.stdout)
        """
}
