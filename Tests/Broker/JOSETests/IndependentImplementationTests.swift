import BrokerTesting
import ChildProcesses
import Crypto
import Foundation
import JOSE
import JWTKit
import StrictCoding
import Testing

/// Tokens from and for implementations that share no code with this one: jwt-kit and the `openssl` command.
@Suite struct IndependentImplementationTests {
    private struct Claims: JWTPayload {
        var sub: String
        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .rs384, .rs512, .es256, .es384, .es512, .edDSA, .ps256, .ps384, .ps512])
    func jwtKitReadsWhatTestKeysSign(algorithm: SignatureAlgorithm) async throws {
        let key = try TestKey.shared(algorithm)
        let token = try key.sign(claims: try JSONObject(#"{"sub":"alice"}"#))
        // jwt-kit reads no JWK of the PS family, so the test passes those keys as numbers.
        let collection = JWTKeyCollection()
        if case .rsa(let modulus, let exponent) = key.publicKey.parameters {
            let rsa = try Insecure.RSA.PublicKey(
                modulus: Base64URL.encode(modulus), exponent: Base64URL.encode(exponent))
            let kid = JWKIdentifier(string: key.keyID ?? "")
            switch algorithm {
            case .ps256: await collection.add(pss: rsa, digestAlgorithm: .sha256, kid: kid)
            case .ps384: await collection.add(pss: rsa, digestAlgorithm: .sha384, kid: kid)
            case .ps512: await collection.add(pss: rsa, digestAlgorithm: .sha512, kid: kid)
            case .rs384: await collection.add(rsa: rsa, digestAlgorithm: .sha384, kid: kid)
            case .rs512: await collection.add(rsa: rsa, digestAlgorithm: .sha512, kid: kid)
            default: await collection.add(rsa: rsa, digestAlgorithm: .sha256, kid: kid)
            }
        } else {
            try await collection.add(jwksJSON: String(decoding: try TestKey.document([key]), as: UTF8.self))
        }
        #expect(try await collection.verify(token, as: Claims.self).sub == "alice")
        await #expect(throws: (any Error).self) {
            try await collection.verify(token.dropLast(4) + "AAAA", as: Claims.self)
        }
    }

    @Test func testKeysOfJWTKitAreReadHere() async throws {
        let es256 = P256.Signing.PrivateKey()
        let ed25519 = Curve25519.Signing.PrivateKey()
        let collection = JWTKeyCollection()
        await collection.add(ecdsa: try ES256PrivateKey(backing: es256), kid: "ec")
        await collection.add(eddsa: EdDSA.PrivateKey(backing: ed25519), kid: "ed")
        let point = es256.publicKey.x963Representation
        let keys = try JSONWebKeySet([
            try JSONWebKey(.ec(.p256, x: Array(point[1..<33]), y: Array(point[33...])), keyID: "ec", algorithm: .es256),
            try JSONWebKey(.ed25519(Array(ed25519.publicKey.rawRepresentation)), keyID: "ed", algorithm: .edDSA),
        ])
        for kid in ["ec", "ed"] {
            let token = try await collection.sign(Claims(sub: "bob"), kid: JWKIdentifier(string: kid))
            let verified = try CompactJWS(token).verified(by: keys, allowing: [.es256, .edDSA])
            #expect(verified.claims.string("sub") == "bob")
            #expect(verified.header.keyID == kid)
        }
    }

    private static let command: String? = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/bin/openssl"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    private func openssl(_ arguments: String...) throws -> [UInt8] {
        let run = try ProgramRun(
            [try #require(Self.command)] + arguments, environment: ChildProcess.bareEnvironment, inOwnSession: true,
            within: .seconds(60))
        try #require(run.status == 0, "\(run.errors)")
        return run.octets
    }

    /// The octets of r and s, side by side, of an ECDSA-Sig-Value (RFC 3279 §2.2.3) of two numbers of 256 bits.
    private func raw(_ der: [UInt8]) throws -> [UInt8] {
        try #require(der.count > 8 && der[0] == 0x30 && der[2] == 0x02)
        let (first, second) = (Int(der[3]), 4 + Int(der[3]) + 2)
        try #require(second < der.count && der[second - 2] == 0x02 && second + Int(der[second - 1]) == der.count)
        return [der[4..<4 + first], der[second...]].flatMap { number in
            let digits = number.drop { $0 == 0 }
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }

    @Test(
        .enabled(if: command != nil, "no openssl command"),
        arguments: [SignatureAlgorithm.rs256, .ps256, .es256, .edDSA])
    func opensslSigns(algorithm: SignatureAlgorithm) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (keyFile, input) = (directory.appending(path: "key.pem").path, directory.appending(path: "input").path)

        let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm.rawValue)"}"#.utf8))
        let signed = header + "." + Base64URL.encode(Array(#"{"sub":"carol"}"#.utf8))
        try Data(signed.utf8).write(to: URL(filePath: input))
        let parameters: JSONWebKey.Parameters
        let signature: [UInt8]
        if algorithm == .edDSA {
            _ = try openssl("genpkey", "-algorithm", "ED25519", "-out", keyFile)
            let key = try openssl("pkey", "-in", keyFile, "-pubout", "-outform", "DER")
            parameters = .ed25519(Array(key.suffix(32)))
            signature = try openssl("pkeyutl", "-sign", "-rawin", "-inkey", keyFile, "-in", input)
        } else if algorithm == .es256 {
            _ = try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", keyFile)
            let point = try openssl("pkey", "-in", keyFile, "-pubout", "-outform", "DER").suffix(64)
            parameters = .ec(.p256, x: Array(point.prefix(32)), y: Array(point.suffix(32)))
            signature = try raw(try openssl("dgst", "-sha256", "-sign", keyFile, input))
        } else {
            _ = try openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", keyFile)
            let modulus = String(decoding: try openssl("rsa", "-in", keyFile, "-noout", "-modulus"), as: UTF8.self)
            let digits = try #require(modulus.split(separator: "=").last?.filter { $0.isHexDigit })
            parameters = .rsa(modulus: try #require(Hexadecimal.decode(digits)), exponent: [1, 0, 1])
            let padding =
                algorithm == .ps256 ? ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"] : []
            signature =
                padding.isEmpty
                ? try openssl("dgst", "-sha256", "-sign", keyFile, input)
                : try openssl(
                    "dgst", "-sha256", padding[0], padding[1], padding[2], padding[3], "-sign", keyFile, input)
        }
        let key = try JSONWebKey(parameters, algorithm: algorithm)
        let token = signed + "." + Base64URL.encode(signature)
        #expect(try CompactJWS(token).verified(by: key).claims.string("sub") == "carol")
    }

    @Test(.enabled(if: command != nil, "no openssl command"), arguments: [SignatureAlgorithm.rs256, .rs512, .ps256])
    func whatJWTKitSignsWithRSAIsReadHere(_ algorithm: SignatureAlgorithm) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let keyFile = directory.appending(path: "key.pem").path
        _ = try openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", keyFile)
        let modulus = String(decoding: try openssl("rsa", "-in", keyFile, "-noout", "-modulus"), as: UTF8.self)
        let digits = try #require(modulus.split(separator: "=").last?.filter { $0.isHexDigit })
        let own = try Insecure.RSA.PrivateKey(pem: try String(contentsOfFile: keyFile, encoding: .utf8))
        let collection = JWTKeyCollection()
        switch algorithm {
        case .ps256: await collection.add(pss: own, digestAlgorithm: .sha256, kid: "rsa")
        case .rs512: await collection.add(rsa: own, digestAlgorithm: .sha512, kid: "rsa")
        default: await collection.add(rsa: own, digestAlgorithm: .sha256, kid: "rsa")
        }
        let key = try JSONWebKey(
            .rsa(modulus: try #require(Hexadecimal.decode(digits)), exponent: [1, 0, 1]), keyID: "rsa",
            algorithm: algorithm)
        let token = try await collection.sign(Claims(sub: "dave"), kid: "rsa")
        #expect(try CompactJWS(token).verified(by: key).claims.string("sub") == "dave")
        #expect(throws: (any Error).self) { try CompactJWS(token.dropLast(4) + "AAAA").verified(by: key) }
    }
}
