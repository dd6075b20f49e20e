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
            signed("ES384", "subject_token_alg_not_allowed") { $0.es384 }
            signed("PS256", "subject_token_alg_not_allowed") {
                try $0.rs256.renamed($0.rs256.keyID, algorithm: .ps256)
            }
            signed("RS256 is allowed", nil) { $0.rs256 }
        }
        Attack("J-05", "one algorithm's signature under another's name") {
            header("kid", #""rsa""#, .malformed("subject_token_alg_not_allowed"))
            header("alg", #""RS256""#, .malformed("subject_token_alg_not_allowed"))
            // DER instead of r and s.
            signature([0x30, 0x44] + [UInt8](repeating: 2, count: 68)) { $0.es256 }
            signature([UInt8](repeating: 0, count: 64)) { $0.es256 }
        }
        Attack("J-06", "a key that is not for signatures") {
            signed("use=enc", "subject_token_unknown_key") { $0.encryption }
            signed("key_ops without verify", "subject_token_unknown_key") { $0.otherOperations }
        }
        Attack("J-07", "a key that the token brings along") {
            for (kid, reason) in [
                (#""attacker""#, "subject_token_unknown_key"), (#""first""#, "subject_token_bad_signature"),
            ] {
                token("jwk and kid \(kid)", .malformed(reason)) { token, fixture in
                    token.sign(with: fixture.keys.attacker)
                    token.header["kid"] = try JSONText.value(kid)
                    token.header["jwk"] = .object(fixture.keys.attacker.publicKey.json)
                }
            }
            signed("x5c", "subject_token_unknown_key", ["x5c": #"["MIIB"]"#]) { $0.attacker }
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
            signed("one key for the algorithm", nil, ["kid": nil]) { $0.rs256 }
            header("kid", nil, .malformed("subject_token_unknown_key"))
            header("kid", "1", .malformed("subject_token_header_refused"))
            header("kid", #""' OR '1'='1""#, .malformed("subject_token_unknown_key"))
            header("kid", #""../../../../dev/null""#, .malformed("subject_token_unknown_key"))
        }
        Attack("J-12", "the key of another issuer") {
            signed("by its kid", "subject_token_unknown_key") { $0.otherIssuer }
            signed("under our kid", "subject_token_bad_signature", ["kid": #""first""#]) { $0.otherIssuer }
        }
        Attack("J-14", "critical extensions") {
            for json in [#"["bork"]"#, "[]", #"["alg"]"#, #"["b64"]"#, "null", #""b64""#] {
                signed(json, "subject_token_header_refused", ["crit": json, "b64": "false"]) { $0.es256 }
            }
            header("b64", "false", .malformed("subject_token_header_refused"))
            header("zip", #""DEF""#, .malformed("subject_token_header_refused"))
        }
        Attack("J-16", "another kind of token") {
            for type in ["at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "JWTX"] {
                header("typ", "\"\(type)\"", .malformed("subject_token_wrong_typ"))
            }
            header("typ", #""""#, .malformed("subject_token_header_refused"))
            for json in [#""jwt""#, #""application/JWT""#, nil] { header("typ", json, .granted) }
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
            headerText("alg twice") {
                $0.replacing("{", with: #"{"alg":"none","#, maxReplacements: 1)
            }
            headerText("an escaped alg") {
                $0.replacing("{", with: #"{"al\u0067":"none","#, maxReplacements: 1)
            }
            headerText("something after it") { $0 + "{}" }
            headerText("a comma too many") { $0.dropLast() + ",}" }
            headerText("no object") { "[\($0)]" }
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
            for kid in ["weak", "exponent-one"] {
                signed(kid, "subject_token_unknown_key") { try $0.rs256.renamed(kid) }
            }
            signature([UInt8](repeating: 0, count: 256)) { $0.rs256 }
            // One octet longer than the key.
            signature([UInt8](repeating: 1, count: 257)) { $0.rs256 }
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

    fileprivate static func headerText(
        _ name: String, _ rewrite: @escaping @Sendable (String) -> String
    ) -> Variant {
        token("header: \(name)", .malformed("subject_token_malformed")) { token, _ in token.rewritesHeader = rewrite }
    }

    /// Signed with a key that the header names, except for what `header` says otherwise, as JSON text; `nil` leaves it out.
    /// Granted if there is no reason.
    fileprivate static func signed(
        _ name: String, _ reason: String?, _ header: [String: String?] = [:],
        by key: @escaping @Sendable (FixtureKeys) throws -> TestKey
    ) -> Variant {
        token(name, reason.map(Verdict.malformed) ?? .granted) { token, fixture in
            token.sign(with: try key(fixture.keys))
            for (name, json) in header { token.header[name] = try json.map(JSONText.value) }
        }
    }

    /// These octets in place of a signature by a key.
    fileprivate static func signature(
        _ octets: [UInt8], of key: @escaping @Sendable (FixtureKeys) -> TestKey
    ) -> Variant {
        token("\(octets.count) octets \(octets[0])", .malformed("subject_token_bad_signature")) { token, fixture in
            token.sign(with: key(fixture.keys))
            token.rewritesToken = { text in
                text.prefix(through: text.lastIndex(of: ".") ?? text.startIndex) + Base64URL.encode(octets)
            }
        }
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
