import BrokerTesting
import JOSE
import StrictCoding
import Testing

@Suite struct JSONWebKeyTests {
    private func refusal(_ json: JSONObject) -> JSONWebKeyError? {
        do {
            _ = try JSONWebKey(json)
            return nil
        } catch {
            return error
        }
    }

    private func changed(_ algorithm: SignatureAlgorithm, _ changes: [(String, JSONValue?)]) throws -> JSONObject {
        var json = try TestKey.shared(algorithm).publicKey.json
        for (name, value) in changes { json[name] = value }
        return json
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func publicFormIsReadBack(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm).publicKey
        let read = try JSONWebKey(key.json)
        #expect(read == key)
        #expect(read.parameters == key.parameters)
        #expect(read.json.names.contains("d") == false)
        #expect(key.json.string("use") == "sig")
    }

    /// J-06: use and operations, and more.
    private static let rows: [(key: SignatureAlgorithm, changes: [(String, JSONValue?)], error: JSONWebKeyError?)] = [
        (.rs256, [("use", .string("enc"))], .notForVerification),
        (.rs256, [("use", .string("SIG"))], .notForVerification),
        (.rs256, [("use", .null)], .malformedMember),
        (.rs256, [("use", nil), ("key_ops", .array([.string("encrypt")]))], .notForVerification),
        (.rs256, [("use", nil), ("key_ops", .array([]))], .notForVerification),
        (.rs256, [("key_ops", .array([.string("sign"), .string("verify")]))], nil),
        (.rs256, [("key_ops", .string("verify"))], .malformedMember),
        (.rs256, [("use", .string("enc")), ("key_ops", .array([.string("verify")]))], .notForVerification),
        (.rs256, [("kty", nil)], .malformedMember),
        (.rs256, [("kty", .string("oct"))], .unsupportedKeyType),
        (.rs256, [("kty", .string("rsa"))], .unsupportedKeyType),
        (.es256, [("crv", .string("secp256k1"))], .unsupportedKeyType),
        (.edDSA, [("crv", .string("X25519"))], .unsupportedKeyType),
        (.edDSA, [("crv", .string("Ed448"))], .unsupportedKeyType),
        (.rs256, [("alg", .string("RSA-OAEP"))], .unsupportedAlgorithm),
        (.rs256, [("alg", .string("HS256"))], .unsupportedAlgorithm),
        (.rs256, [("alg", .string("ES256"))], .algorithmDoesNotFitKey),
        (.es256, [("alg", .string("ES384"))], .algorithmDoesNotFitKey),
        (.rs256, [("kid", .number(JSONNumber(1)))], .malformedMember),
    ]

    @Test(arguments: rows.indices) func members(_ index: Int) throws {
        let (key, changes, error) = Self.rows[index]
        #expect(refusal(try changed(key, changes)) == error)
    }

    @Test(arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func privateMembers(name: String) throws {
        let json = try changed(.rs256, [(name, .string("AA"))])
        #expect(refusal(json) == .privateKey)
        #expect(try JSONWebKey(json, allowingPrivateMembers: true).json[name] == nil)
    }

    // J-23, W: weak and malformed RSA keys.
    @Test func weakRSAKeys() throws {
        func refusal(bits: Int, exponent: [UInt8] = [1, 0, 1], last: UInt8 = 0xFF) -> JSONWebKeyError? {
            var modulus = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
            modulus[0] >>= UInt8((8 - bits % 8) % 8)
            modulus[modulus.count - 1] = last
            do {
                _ = try JSONWebKey(.rsa(modulus: modulus, exponent: exponent))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(bits: 2048) == nil)
        #expect(refusal(bits: 8192) == nil)
        for bits in [512, 1024, 2047, 8193, 16384] { #expect(refusal(bits: bits) == .weakKey) }
        #expect(refusal(bits: 2048, last: 0xFE) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [1]) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [3]) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [0xFF, 0xFF]) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [1, 0, 0]) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [1, 0, 0, 0, 1]) == .weakKey)
        #expect(refusal(bits: 2048, exponent: [0, 1, 0, 1]) == .malformedMember)
        #expect(refusal(bits: 2048, exponent: []) == .malformedMember)
        let modulus = [0] + [UInt8](repeating: 0xFF, count: 256)
        #expect(throws: JSONWebKeyError.malformedMember) {
            try JSONWebKey(.rsa(modulus: modulus, exponent: [1, 0, 1]))
        }
        #expect(throws: JSONWebKeyError.malformedMember) { try JSONWebKey(.rsa(modulus: [], exponent: [1, 0, 1])) }
    }

    @Test func malformedOctets() throws {
        for value: JSONValue? in [
            nil, .null, .number(JSONNumber(1)), .string(""), .string("AQAB="), .string("A Q"), .string("AR"),
        ] {
            #expect(refusal(try changed(.rs256, [("e", value)])) == .malformedMember)
            #expect(refusal(try changed(.es256, [("y", value)])) == .malformedMember)
            #expect(refusal(try changed(.edDSA, [("x", value)])) == .malformedMember)
        }
    }

    @Test(arguments: [SignatureAlgorithm.es256, .es384, .es512])
    func pointsMustLieOnTheCurve(algorithm: SignatureAlgorithm) throws {
        guard case .ec(let curve, let x, let y) = try TestKey.shared(algorithm).publicKey.parameters else {
            Issue.record("no EC key")
            return
        }
        var moved = y
        moved[moved.count - 1] ^= 1
        #expect(throws: JSONWebKeyError.invalidPoint) { try JSONWebKey(.ec(curve, x: x, y: moved)) }
        let zero = [UInt8](repeating: 0, count: curve.coordinateCount)
        #expect(throws: JSONWebKeyError.invalidPoint) { try JSONWebKey(.ec(curve, x: zero, y: zero)) }
        #expect(throws: JSONWebKeyError.malformedMember) { try JSONWebKey(.ec(curve, x: [0] + x, y: y)) }
        #expect(throws: JSONWebKeyError.malformedMember) { try JSONWebKey(.ec(curve, x: Array(x.dropLast()), y: y)) }
    }

    /// RFC 7518 §3.4: r and s in full length, neither zero, and never in DER.
    @Test(arguments: [SignatureAlgorithm.es256, .es384, .es512])
    func formOfECDSASignatures(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm)
        let message = Array("message".utf8)
        let signature = try key.signature(over: message)
        func verifies(_ signature: [UInt8]) -> Bool {
            key.publicKey.verifies(signature, of: message, algorithm: algorithm)
        }
        #expect(verifies(signature))
        let half = signature.count / 2
        let zero = [UInt8](repeating: 0, count: half)
        for other in [
            zero + zero, Array(signature[..<half]) + zero, zero + Array(signature[half...]),
            [UInt8](repeating: 0xFF, count: 2 * half), signature + [0], [0] + signature,
            Array(signature.dropLast()), [],
        ] { #expect(!verifies(other)) }
        func integer(_ number: [UInt8]) -> [UInt8] {
            let digits = [0] + Array(number.drop { $0 == 0 })
            return [2, UInt8(digits.count)] + digits
        }
        let numbers = integer(Array(signature[..<half])) + integer(Array(signature[half...]))
        #expect(!verifies([0x30, UInt8(numbers.count & 0x7F)] + numbers))
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .ps256, .ed25519])
    func formOfOtherSignatures(algorithm: SignatureAlgorithm) throws {
        let key = try TestKey.shared(algorithm)
        let signature = try key.signature(over: [])
        #expect(key.publicKey.verifies(signature, of: [], algorithm: algorithm))
        for other in [[0] + signature, signature + [0], Array(signature.dropLast()), []] {
            #expect(!key.publicKey.verifies(other, of: [], algorithm: algorithm))
        }
    }

    @Test func aKeyWithoutAlgorithmServesItsFamily() throws {
        let json = try changed(.rs256, [("alg", nil)])
        let key = try JSONWebKey(json)
        #expect(SignatureAlgorithm.allCases.filter(key.supports) == [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512])
        let ec = try JSONWebKey(try changed(.es384, [("alg", nil)]))
        #expect(SignatureAlgorithm.allCases.filter(ec.supports) == [.es384])
    }
}
