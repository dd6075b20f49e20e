import BrokerTesting
import Crypto
import JOSE
import StrictCoding
import Testing

@Suite("The rules of DPoP proofs, RFC 9449 §4.3")
struct DPoPProofTests {
    static let target = "https://sso.example.com/token"
    static let now: Int64 = 1_795_000_000

    struct Row: Sendable, CustomTestStringConvertible {
        let title: String
        /// `nil`: the proof is valid.
        let defect: DPoPDefect?
        let bend: @Sendable (inout TestProof) throws -> Void
        var testDescription: String { title }

        init(
            _ title: String, _ defect: DPoPDefect? = nil,
            _ bend: @escaping @Sendable (inout TestProof) throws -> Void
        ) {
            self.title = title
            self.defect = defect
            self.bend = bend
        }

        /// One claim, as JSON text; `nil` leaves it out.
        static func claim(_ name: String, _ json: String?, _ defect: DPoPDefect? = nil) -> Row {
            Row("\(name) \(json?.prefix(40) ?? "missing")", defect) {
                $0.claims[name] = try json.map { try JSONReader.parse(Array("[\($0)]".utf8)).array?[0] ?? .null }
            }
        }

        /// One member of the header.
        static func header(_ name: String, _ value: JSONValue?, _ defect: DPoPDefect? = nil) -> Row {
            Row("\(name) \(value.map { "\($0)".prefix(40) } ?? "missing")", defect) { $0.header[name] = value }
        }

        /// A proof by a key of this kind.
        static func algorithm(_ algorithm: SignatureAlgorithm, _ defect: DPoPDefect? = nil) -> Row {
            Row("alg \(algorithm.rawValue)", defect) {
                let claims = $0.claims
                $0 = TestProof(by: try TestKey.shared(algorithm), for: target, at: now)
                $0.claims = claims
            }
        }

        /// An RSA key as anyone can send one.
        static func rsa(_ name: String, octets: Int, exponent: [UInt8], _ defect: DPoPDefect = .key) -> Row {
            Row("an RSA key \(name)", defect) {
                var jwk = TestProof.jwk(of: try TestKey.shared(.rs256))
                jwk["n"] = .string(Base64URL.encode([0xC5] + [UInt8](repeating: 0x5B, count: octets - 1)))
                jwk["e"] = .string(Base64URL.encode(exponent))
                $0.header["alg"] = .string("RS256")
                $0.header["jwk"] = .object(jwk)
            }
        }

        /// One member of the key.
        static func member(_ name: String, _ value: JSONValue?, _ defect: DPoPDefect? = nil) -> Row {
            Row("jwk \(name)", defect) {
                var jwk = $0.header.object("jwk") ?? JSONObject()
                jwk[name] = value
                $0.header["jwk"] = .object(jwk)
            }
        }
    }

    static let rows: [Row] =
        [
            Row("as it should be") { _ in },
            // Form
            Row("nothing", .malformed) { $0.rewritesToken = { _ in "" } },
            Row("no JWS", .malformed) { $0.rewritesToken = { _ in "a.b" } },
            Row("encrypted", .malformed) { $0.rewritesToken = { $0 + ".a.b" } },
            Row("a list", .repeated) { $0.rewritesToken = { $0 + "," + $0 } },
            Row("too long", .malformed) { $0.claims["x"] = .string(String(repeating: "x", count: 5000)) },
            // Header
            .header("typ", nil, .wrongType), .header("typ", .string("JWT"), .wrongType),
            .header("typ", .string("at+jwt"), .wrongType), .header("typ", .string("application/dpop+jwt")),
            .header("alg", nil, .header), .header("alg", .string("none"), .algorithm),
            .header("alg", .string("HS256"), .algorithm), .header("alg", .string("es256"), .algorithm),
            .header("alg", .string("RS256"), .algorithm), .header("crit", .array([.string("exp")]), .header),
            .header("jwk", nil, .key), .header("jwk", .string("k"), .key), .header("kid", .string("by reference")),
            .algorithm(.es384), .algorithm(.rs256), .algorithm(.ps256), .algorithm(.ed25519), .algorithm(.edDSA),
            .algorithm(.es512, .algorithm), .algorithm(.rs512, .algorithm),
            .member("x", nil, .key), .member("kty", .string("EX"), .key), .member("crv", .string("P-384"), .key),
            .member("y", .string("AAAA"), .key), .member("use", .string("enc"), .key),
            .member("alg", .string("ES384"), .key), .member("use", .string("sig")),
            .member("d", .string("AAAA"), .privateKey), .member("k", .string("AAAA"), .privateKey),
            .member("p", .null, .privateKey),
            Row("a symmetric key", .privateKey) {
                $0.header["jwk"] = .object(try JSONObject(#"{"kty":"oct","k":"AAAA"}"#))
            },
            .rsa("of 1024 bits", octets: 128, exponent: [1, 0, 1], .weakKey),
            .rsa("of 4104 bits", octets: 513, exponent: [1, 0, 1]),
            .rsa("with the exponent 3", octets: 256, exponent: [3], .weakKey),
            .rsa("with the exponent 65539", octets: 256, exponent: [1, 0, 3]),
            .rsa("with a long exponent", octets: 256, exponent: [1, 0, 0, 0, 1], .weakKey),
            // Signature
            Row("by another key", .signature) { $0.key = try TestKey(.es256, keyID: nil) },
            Row("another octet", .signature) {
                $0.rewritesToken = { String($0.dropLast(4)) + ($0.hasSuffix("AAAA") ? "BBBA" : "AAAA") }
            },
        ] + [
            // Claims
            .claim("htm", nil, .method), .claim("htm", #""GET""#, .method), .claim("htm", #""post""#, .method),
            .claim("htm", "7", .method), .claim("htu", nil, .target), .claim("htu", "7", .target),
            .claim("htu", #""https://idp.example.com/token""#, .target),
            .claim("htu", #""https://sso.example.com/other""#, .target),
            .claim("htu", #""https://sso.example.com/token?a=b""#),
            .claim("htu", #""https://SSO.example.com:443/token#x""#),
            .claim("iat", nil, .issuedAt), .claim("iat", #""1795000000""#, .issuedAt),
            .claim("iat", "\(now - 60)"), .claim("iat", "\(now - 61)", .issuedAt), .claim("iat", "\(now + 30)"),
            .claim("iat", "\(now + 31)", .issuedAt), .claim("iat", "\(now).75"), .claim("iat", "1e308", .issuedAt),
            .claim("iat", "-1", .issuedAt), .claim("iat", "null", .issuedAt),
            .claim("jti", nil, .tokenID), .claim("jti", #""""#, .tokenID), .claim("jti", "7", .tokenID),
            .claim("jti", "\"\(String(repeating: "j", count: 256))\""),
            .claim("jti", "\"\(String(repeating: "j", count: 257))\"", .tokenID),
            .claim("nonce", "7", .nonce), .claim("nonce", "null", .nonce), .claim("nonce", #""n""#),
        ]

    private static func read(_ fields: [String]) -> Result<DPoPProof, DPoPDefect> {
        Result { () throws(DPoPDefect) in
            guard let target = TargetURI(target) else { throw .target }
            return try DPoPProof(fields, method: "POST", target: target, times: now - 60...now + 30)
        }
    }

    private static func good() throws -> TestProof { TestProof(by: try TestKey.shared(.es256), for: target, at: now) }

    @Test(arguments: rows) func rule(_ row: Row) throws {
        var proof = try Self.good()
        try row.bend(&proof)
        let read = Self.read([try proof.signed()])
        switch row.defect {
        case nil:
            let read = try read.get()
            #expect(read.keyThumbprint == TestProof.thumbprint(of: proof.key))
            #expect(read.tokenID == proof.claims.string("jti"))
            #expect(read.nonce == proof.claims.string("nonce"))
        case let defect?: #expect(throws: defect) { try read.get() }
        }
    }

    @Test func everyDefectHasARow() {
        let tried = Set(Self.rows.compactMap(\.defect))
        #expect(Set(DPoPDefect.allCases).subtracting(tried) == [.accessToken])
    }

    @Test func moreThanOneField() throws {
        let proof = try Self.good().signed()
        for fields in [[proof, proof], [proof, ""], []] {
            #expect(throws: DPoPDefect.repeated) { try Self.read(fields).get() }
        }
    }

    @Test func aPublishedProofIsRead() throws {
        // RFC 9449 §4.1, Figure 1 and 2; §6.1 has the thumbprint of its key.
        let proof = """
            eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg
            """
        let target = try #require(TargetURI("https://server.example.com/token"))
        let read = try DPoPProof([proof], method: "POST", target: target, times: 1_562_262_616...1_562_262_616)
        #expect(read.tokenID == "-BwC3ESc6acc2lTc")
        #expect(read.keyThumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        #expect(throws: DPoPDefect.issuedAt) {
            try DPoPProof([proof], method: "POST", target: target, times: 1_562_262_617...1_562_262_618)
        }
    }

    @Test func anotherImplementationsProofIsRead() throws {
        let proof = try PyJWT.sign(
            .es256, header: #"{"typ":"dpop+jwt","jwk":{}}"#,
            claims: #"{"jti":"from PyJWT","htm":"POST","htu":"\#(Self.target)","iat":\#(Self.now)}"#
        ).token
        #expect(try Self.read([proof]).get().tokenID == "from PyJWT")
    }

    @Test func withAnAccessToken() throws {
        var proof = try Self.good()
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array("token".utf8))))
        let thumbprint = TestProof.thumbprint(of: proof.key)
        let bare = try Self.read([try proof.signed()]).get()
        #expect(throws: DPoPDefect.accessToken) { try bare.requireAccessToken("token", boundTo: thumbprint) }
        proof.claims["ath"] = .string(hash)
        let read = try Self.read([try proof.signed()]).get()
        try read.requireAccessToken("token", boundTo: thumbprint)
        #expect(throws: DPoPDefect.accessToken) { try read.requireAccessToken("other", boundTo: thumbprint) }
        #expect(throws: DPoPDefect.key) { try read.requireAccessToken("token", boundTo: "other") }
    }
}
