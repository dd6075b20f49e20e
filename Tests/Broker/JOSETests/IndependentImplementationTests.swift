import BrokerTesting
import ChildProcesses
import Foundation
import JOSE
import StrictCoding
import Testing

/// Tokens from and for implementations that share no code with this one: PyJWT and the `openssl` command.
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
}
