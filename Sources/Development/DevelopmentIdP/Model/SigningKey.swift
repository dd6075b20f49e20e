import Crypto
import CryptoExtras
import Foundation
package import JOSE
import StrictCoding
import Synchronization

/// A signing key of the provider. Its file is plain PKCS #8 PEM, so that scripts can sign tokens of their own with it.
package struct SigningKey: Sendable {
    private enum Material: Sendable {
        case es256(P256.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)
    }

    /// What others verify with. Its `kid` is its RFC 7638 thumbprint.
    package let publicKey: JSONWebKey
    package let algorithm: SigningAlgorithm
    private let material: Material

    /// A new key.
    package init(generating algorithm: SigningAlgorithm) throws {
        switch algorithm {
        case .es256: try self.init(.es256(P256.Signing.PrivateKey()))
        case .rs256: try self.init(.rs256(_RSA.Signing.PrivateKey(keySize: .bits2048)))
        }
    }

    /// Reads the key from the file `path`. If the file does not exist, writes a new key, readable by its owner alone.
    package init(file path: String, algorithm: SigningAlgorithm) throws {
        guard let bytes = try PrivateFile.read(path) else {
            try self.init(generating: algorithm)
            try PrivateFile.create(path, Array(pem.utf8))
            return
        }
        let pem = String(decoding: bytes, as: UTF8.self)
        do {
            switch algorithm {
            case .es256: try self.init(.es256(P256.Signing.PrivateKey(pemRepresentation: pem)))
            case .rs256: try self.init(.rs256(_RSA.Signing.PrivateKey(pemRepresentation: pem)))
            }
        } catch {
            throw ProviderError.unusableKey(path)
        }
    }

    private init(_ material: Material) throws {
        self.material = material
        let parameters: JSONWebKey.Parameters
        switch material {
        case .es256(let key):
            algorithm = .es256
            let point = Array(key.publicKey.rawRepresentation)
            parameters = .ec(.p256, x: Array(point.prefix(32)), y: Array(point.suffix(32)))
        case .rs256(let key):
            algorithm = .rs256
            let primitives = try key.publicKey.getKeyPrimitives()
            parameters = .rsa(modulus: Array(primitives.modulus), exponent: Array(primitives.publicExponent))
        }
        let thumbprint = try JSONWebKey(parameters).thumbprint
        publicKey = try JSONWebKey(
            parameters, keyID: Base64URL.encode(thumbprint), algorithm: SignatureAlgorithm(name: algorithm.rawValue))
    }

    /// The compact serialisation of a JWS over `payload`, RFC 7515 §7.1.
    func sign(payload: [UInt8], type: String) throws -> String {
        var header = JSONWriter()
        header.object { json in
            json.member("alg", algorithm.rawValue)
            publicKey.keyID.map { json.member("kid", $0) }
            json.member("typ", type)
        }
        let input = Base64URL.encode(header.bytes) + "." + Base64URL.encode(payload)
        return try input + "." + Base64URL.encode(signature(Data(input.utf8)))
    }

    /// Puts it in the place of another key's file, at once.
    func write(replacing path: String) throws {
        let new = path + ".new"
        try? FileManager.default.removeItem(atPath: new)
        try PrivateFile.create(new, Array(pem.utf8))
        guard rename(new, path) == 0 else { throw ProviderError.unwritableFile(path) }
    }

    private var pem: String {
        switch material {
        case .es256(let key): key.pemRepresentation + "\n"
        case .rs256(let key): key.pkcs8PEMRepresentation + "\n"
        }
    }

    private func signature(_ input: Data) throws -> Data {
        switch material {
        case .es256(let key): try key.signature(for: input).rawRepresentation  // r‖s, RFC 7518 §3.4
        case .rs256(let key): try key.signature(for: input, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}

/// What id_tokens and access tokens are signed with, RFC 7518 §3.1.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    case es256 = "ES256"
    case rs256 = "RS256"
}

/// The key that the provider signs with, and the public keys that others may still meet in its tokens.
package final class SigningKeys: Sendable {
    private struct State {
        var current: SigningKey
        /// Newest first, with the current one.
        var published: [JSONWebKey]
    }

    private let state: Mutex<State>
    /// nil: in memory only.
    private let path: String?

    package init(_ key: SigningKey) {
        state = Mutex(State(current: key, published: [key.publicKey]))
        path = nil
    }

    /// Reads the key from the file, or makes one: ``SigningKey/init(file:algorithm:)``.
    package init(file path: String, algorithm: SigningAlgorithm) throws {
        let key = try SigningKey(file: path, algorithm: algorithm)
        state = Mutex(State(current: key, published: [key.publicKey]))
        self.path = path
    }

    package var current: SigningKey { state.withLock { $0.current } }

    var published: [JSONWebKey] { state.withLock { $0.published } }

    /// Signs with a new key from now on. The older ones stay published until the process ends, so that their tokens verify.
    package func rotate() throws {
        let key = try SigningKey(generating: current.algorithm)
        if let path { try key.write(replacing: path) }
        state.withLock { state in
            state.current = key
            state.published.insert(key.publicKey, at: 0)
        }
    }
}
