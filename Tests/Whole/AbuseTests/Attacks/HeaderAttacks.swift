import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness

extension Attack {
    /// The header and the form of the id_token.
    @ListBuilder static var headerAttacks: [Attack] {
        Attack("J-01", "no algorithm, in every spelling") {
            for name in ["none", "None", "nOnE", "NONE", "none ", "", "HS256", "HS512", "rs256", "ES256 "] {
                alg(name, "subject_token_alg_not_allowed")
                alg(name, "subject_token_malformed", signature: "")
            }
        }
        Attack("J-02", "the signature taken away") {
            rewritten("empty", "subject_token_malformed") {
                $0.prefix(through: $0.lastIndex(of: ".") ?? $0.startIndex) + ""
            }
            rewritten("gone", "subject_token_malformed") {
                $0.prefix(upTo: $0.lastIndex(of: ".") ?? $0.startIndex) + ""
            }
            rewritten("one character changed", "subject_token_bad_signature") { token in
                let index = token.index(token.endIndex, offsetBy: -20)
                return token[..<index] + (token[index] == "A" ? "B" : "A") + token[token.index(after: index)...]
            }
        }
        Attack("J-03", "a text that is no compact JWS") {
            rewritten("four parts", "subject_token_malformed") { $0 + "." }
            rewritten("a space inside", "subject_token_malformed") {
                $0.replacing(".", with: ". ", maxReplacements: 1)
            }
            rewritten("padding", "subject_token_malformed") { $0 + "=" }
            rewritten("the other alphabet", "subject_token_malformed") { $0 + "+/" }
            rewritten("JSON serialization", "subject_token_malformed") { _ in
                #"{"payload":"e30","signature":"","protected":"e30"}"#
            }
            rewritten("not canonical", "subject_token_malformed") { token in
                // The last character of a 64-octet signature carries two bits; the other four must be zero.
                token.dropLast() + String(token.last == "A" ? "B" : "_")
            }
        }
        Attack("J-04", "an algorithm that the issuer may not use") {
            token("ES384", .malformed("subject_token_alg_not_allowed")) { token, fixture in
                token.sign(with: fixture.keys.es384)
            }
            token("PS256", .malformed("subject_token_alg_not_allowed")) { token, fixture in
                token.sign(with: try fixture.keys.rs256.renamed(fixture.keys.rs256.keyID, algorithm: .ps256))
            }
            token("RS256 is allowed", .granted) { token, fixture in token.sign(with: fixture.keys.rs256) }
        }
        Attack("J-05", "one algorithm's signature under another's name") {
            token("ES256 with an RSA key's id", .malformed("subject_token_alg_not_allowed")) { token, fixture in
                token.header["kid"] = fixture.keys.rs256.keyID.map { .string($0) }
            }
            token("RS256 over ES256", .malformed("subject_token_alg_not_allowed")) { token, _ in
                token.header["alg"] = .string("RS256")
            }
            token("DER instead of r and s", .malformed("subject_token_bad_signature")) { token, _ in
                token.rewritesToken = { text in
                    text.prefix(through: text.lastIndex(of: ".") ?? text.startIndex)
                        + Base64URL.encode([0x30, 0x44] + [UInt8](repeating: 2, count: 68))
                }
            }
            token("r and s zero", .malformed("subject_token_bad_signature")) { token, _ in
                token.rewritesToken = { text in
                    text.prefix(through: text.lastIndex(of: ".") ?? text.startIndex)
                        + Base64URL.encode([UInt8](repeating: 0, count: 64))
                }
            }
        }
        Attack("J-06", "a key that is not for signatures") {
            token("use=enc", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: fixture.keys.encryption)
            }
            token("key_ops without verify", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: fixture.keys.otherOperations)
            }
        }
        Attack("J-07", "a key that the token brings along") {
            token("jwk", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: fixture.keys.attacker)
                token.header["jwk"] = .object(fixture.keys.attacker.publicKey.json)
            }
            token("jwk and a known kid", .malformed("subject_token_bad_signature")) { token, fixture in
                let kid = token.header["kid"]
                token.sign(with: fixture.keys.attacker)
                token.header["kid"] = kid
                token.header["jwk"] = .object(fixture.keys.attacker.publicKey.json)
            }
            token("x5c", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: fixture.keys.attacker)
                token.header["x5c"] = .array([.string("MIIB")])
            }
        }
        Attack("J-08", "an address where the key would be") {
            for name in ["jku", "x5u"] {
                for address in ["attacker", "http://169.254.169.254/", "file:///etc/passwd"] {
                    token("\(name) \(address)", .malformed("subject_token_unknown_key")) { token, fixture in
                        token.sign(with: fixture.keys.attacker)
                        token.header[name] = .string(address == "attacker" ? fixture.trap.issuer + "/jwks" : address)
                    }
                }
            }
        }
        Attack("J-11", "no kid") {
            token("one key for the algorithm", .granted) { token, fixture in
                token.sign(with: fixture.keys.rs256)
                token.header["kid"] = nil
            }
            token("several", .malformed("subject_token_unknown_key")) { token, _ in token.header["kid"] = nil }
            token("no text", .malformed("subject_token_header_refused")) { token, _ in
                token.header["kid"] = .number(JSONNumber(1))
            }
            token("SQL", .malformed("subject_token_unknown_key")) { token, _ in
                token.header["kid"] = .string("' OR '1'='1")
            }
            token("a path", .malformed("subject_token_unknown_key")) { token, _ in
                token.header["kid"] = .string("../../../../dev/null")
            }
        }
        Attack("J-12", "the key of another issuer") {
            token("by its kid", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: fixture.keys.otherIssuer)
            }
            token("under our kid", .malformed("subject_token_bad_signature")) { token, fixture in
                let kid = token.header["kid"]
                token.sign(with: fixture.keys.otherIssuer)
                token.header["kid"] = kid
            }
        }
        Attack("J-14", "critical extensions") {
            for json in [#"["bork"]"#, "[]", #"["alg"]"#, #"["b64"]"#, "null", #""b64""#] {
                token(json, .malformed("subject_token_header_refused")) { token, _ in
                    token.header["crit"] = try JSONText.value(json)
                    token.header["b64"] = .bool(false)
                }
            }
            token("b64 alone", .malformed("subject_token_header_refused")) { token, _ in
                token.header["b64"] = .bool(false)
            }
            token("zip", .malformed("subject_token_header_refused")) { token, _ in
                token.header["zip"] = .string("DEF")
            }
        }
        Attack("J-16", "another kind of token") {
            for type in ["at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "JWTX"] {
                token("typ \(type)", .malformed("subject_token_wrong_typ")) { token, _ in
                    token.header["typ"] = .string(type)
                }
            }
            token("an empty typ", .malformed("subject_token_header_refused")) { token, _ in
                token.header["typ"] = .string("")
            }
            token("typ jwt", .granted) { token, _ in token.header["typ"] = .string("jwt") }
            token("typ application/JWT", .granted) { token, _ in token.header["typ"] = .string("application/JWT")
            }
            token("no typ", .granted) { token, _ in token.header["typ"] = nil }
        }
        Attack("J-17", "an encrypted token") {
            rewritten("dir", "subject_token_malformed") { _ in jwe(#"{"alg":"dir","enc":"A128GCM"}"#) }
            rewritten("RSA-OAEP", "subject_token_malformed") { _ in jwe(#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#) }
            rewritten("an hour of PBES2", "subject_token_malformed") { _ in
                jwe(#"{"alg":"PBES2-HS256+A128KW","enc":"A128GCM","p2c":2147483647,"p2s":"AA"}"#)
            }
            rewritten("a bomb", "subject_token_malformed") { _ in
                jwe(#"{"alg":"dir","enc":"A128GCM","zip":"DEF"}"#)
            }
        }
        Attack("J-19", "dots") {
            rewritten("8,000", "subject_token_malformed") { _ in String(repeating: ".", count: 8000) }
            rewritten("two", "subject_token_malformed") { _ in ".." }
        }
        Attack("J-20", "JSON that two readers read differently") {
            header("alg twice", "subject_token_malformed") {
                $0.replacing("{", with: #"{"alg":"none","#, maxReplacements: 1)
            }
            header("an escaped alg", "subject_token_malformed") {
                $0.replacing("{", with: #"{"al\u0067":"none","#, maxReplacements: 1)
            }
            header("something after it", "subject_token_malformed") { $0 + "{}" }
            header("a comma too many", "subject_token_malformed") { $0.dropLast() + ",}" }
            header("no object", "subject_token_malformed") { "[\($0)]" }
            claimsText("sub twice", "subject_token_malformed") {
                $0.replacing("{", with: #"{"sub":"admin","#, maxReplacements: 1)
            }
            claimsText("an escaped sub", "subject_token_malformed") {
                $0.replacing("{", with: #"{"s\u0075b":"admin","#, maxReplacements: 1)
            }
            claimsText("an array", "subject_token_malformed") { "[\($0)]" }
            claimsText("a comment", "subject_token_malformed") { $0 + "//" }
        }
        Attack("J-23", "RSA at its edges") {
            token("a key of 1024 bits", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: try fixture.keys.rs256.renamed("weak"))
            }
            token("an exponent of one", .malformed("subject_token_unknown_key")) { token, fixture in
                token.sign(with: try fixture.keys.rs256.renamed("exponent-one"))
            }
            token("a signature of zeros", .malformed("subject_token_bad_signature")) { token, fixture in
                token.sign(with: fixture.keys.rs256)
                token.rewritesToken = { text in
                    text.prefix(through: text.lastIndex(of: ".") ?? text.startIndex)
                        + Base64URL.encode([UInt8](repeating: 0, count: 256))
                }
            }
            token("a signature one octet longer", .malformed("subject_token_bad_signature")) { token, fixture in
                token.sign(with: fixture.keys.rs256)
                token.rewritesToken = { text in
                    text.prefix(through: text.lastIndex(of: ".") ?? text.startIndex)
                        + Base64URL.encode([UInt8](repeating: 1, count: 257))
                }
            }
        }
        Attack("J-25", "a header that fits another token") {
            token("the payload of a second token", .malformed("subject_token_bad_signature")) { token, fixture in
                let other = try fixture.idToken().signed()
                token.rewritesToken = { text in
                    let (own, foreign) = (text.split(separator: "."), other.split(separator: "."))
                    return "\(own[0]).\(foreign[1]).\(own[2])"
                }
            }
        }
    }

    private static func jwe(_ header: String) -> String { Base64URL.encode(Array(header.utf8)) + ".AA.AA.AA.AA" }
}

extension IDToken {
    /// Signs with another key, honestly named in the header.
    mutating func sign(with key: TestKey) {
        self.key = key
        header["alg"] = .string(key.algorithm.rawValue)
        header["kid"] = key.keyID.map { .string($0) }
    }
}

extension Attack {
    fileprivate static func rewritten(
        _ name: String, _ reason: String, _ rewrite: @escaping @Sendable (String) -> String
    ) -> Variant {
        token(name, .malformed(reason)) { token, _ in token.rewritesToken = rewrite }
    }

    fileprivate static func header(
        _ name: String, _ reason: String, _ rewrite: @escaping @Sendable (String) -> String
    ) -> Variant {
        token("header: \(name)", .malformed(reason)) { token, _ in token.rewritesHeader = rewrite }
    }

    static func claimsText(
        _ name: String, _ reason: String, _ rewrite: @escaping @Sendable (String) -> String
    ) -> Variant {
        token("claims: \(name)", .malformed(reason)) { token, _ in token.rewritesClaims = rewrite }
    }

    fileprivate static func alg(_ name: String, _ reason: String, signature: String? = nil) -> Variant {
        token(
            "alg \"\(name)\"\(signature == nil ? "" : ", no signature")",
            .malformed(signature == nil ? reason : "subject_token_malformed")
        ) { token, _ in
            token.header["alg"] = .string(name)
            if let signature {
                token.rewritesToken = { $0.prefix(through: $0.lastIndex(of: ".") ?? $0.startIndex) + signature }
            }
        }
    }
}
