import Crypto
import CryptoExtras
import FoundationEssentials
package import JOSE
package import StrictCoding

/// A private key for tests and development tools, made anew in each process. Signs whatever it is given, evil headers included.
package struct TestKey: Sendable {
    package let keyID: String?
    package let algorithm: SignatureAlgorithm
    /// Its public half, with `kid` and `alg`.
    package let publicKey: JSONWebKey
    private let secret: Secret

    private enum Secret: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case p521(P521.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    /// A new key. RSA keys of 2048 bits take a good part of a second; prefer ``shared(_:)``.
    package init(_ algorithm: SignatureAlgorithm, keyID: String?) throws {
        let secret: Secret =
            switch algorithm {
            case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            case .es256: .p256(P256.Signing.PrivateKey())
            case .es384: .p384(P384.Signing.PrivateKey())
            case .es512: .p521(P521.Signing.PrivateKey())
            case .edDSA, .ed25519: .ed25519(Curve25519.Signing.PrivateKey())
            }
        try self.init(algorithm, keyID: keyID, secret: secret)
    }

    private init(_ algorithm: SignatureAlgorithm, keyID: String?, secret: Secret) throws {
        self.algorithm = algorithm
        self.keyID = keyID
        self.secret = secret
        publicKey = try JSONWebKey(try Self.parameters(of: secret), keyID: keyID, algorithm: algorithm)
    }

    /// The same key pair under another name, or for another algorithm of its family.
    package func renamed(_ keyID: String?, algorithm: SignatureAlgorithm? = nil) throws -> TestKey {
        try TestKey(algorithm ?? self.algorithm, keyID: keyID, secret: secret)
    }

    /// The key of this process for `algorithm`; its `kid` is `test-` and the algorithm's name. RSA algorithms share one pair.
    package static func shared(_ algorithm: SignatureAlgorithm) throws -> TestKey {
        let keyID = "test-" + algorithm.rawValue
        switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
            return try sharedRSA.get().renamed(keyID, algorithm: algorithm)
        case .es256: return try sharedES256.get()
        case .es384: return try sharedES384.get()
        case .es512: return try sharedES512.get()
        case .edDSA, .ed25519: return try sharedEd25519.get().renamed(keyID, algorithm: algorithm)
        }
    }

    private static let sharedRSA = Result { try TestKey(.rs256, keyID: nil) }
    private static let sharedES256 = Result { try TestKey(.es256, keyID: "test-ES256") }
    private static let sharedES384 = Result { try TestKey(.es384, keyID: "test-ES384") }
    private static let sharedES512 = Result { try TestKey(.es512, keyID: "test-ES512") }
    private static let sharedEd25519 = Result { try TestKey(.ed25519, keyID: nil) }

    // MARK: Signing

    /// The signature of this key over `input` in the form of JWS: ECDSA as r and s side by side.
    ///
    /// - Parameter algorithm: Another algorithm of the key's family than its own.
    package func signature(over input: some Collection<UInt8>, algorithm: SignatureAlgorithm? = nil) throws -> [UInt8] {
        let input = Array(input)
        switch secret {
        case .rsa(let key):
            return try Self.signature(of: key, over: input, algorithm ?? self.algorithm)
        case .p256(let key): return Array(try key.signature(for: SHA256.hash(data: input)).rawRepresentation)
        case .p384(let key): return Array(try key.signature(for: SHA384.hash(data: input)).rawRepresentation)
        case .p521(let key): return Array(try key.signature(for: SHA512.hash(data: input)).rawRepresentation)
        case .ed25519(let key): return Array(try key.signature(for: input))
        }
    }

    private static func signature(
        of key: _RSA.Signing.PrivateKey, over input: [UInt8], _ algorithm: SignatureAlgorithm
    ) throws -> [UInt8] {
        let padding: _RSA.Signing.Padding =
            switch algorithm {
            case .ps256, .ps384, .ps512: .PSS
            default: .insecurePKCS1v1_5
            }
        let signature =
            switch algorithm {
            case .rs384, .ps384: try key.signature(for: SHA384.hash(data: input), padding: padding)
            case .rs512, .ps512: try key.signature(for: SHA512.hash(data: input), padding: padding)
            default: try key.signature(for: SHA256.hash(data: input), padding: padding)
            }
        return Array(signature.rawRepresentation)
    }

    /// A compact JWS over exactly these octets; neither need be JSON.
    package func sign(
        header: some Collection<UInt8>, payload: some Collection<UInt8>, algorithm: SignatureAlgorithm? = nil
    ) throws -> String {
        var token: [UInt8] = []
        Base64URL.append(header, to: &token)
        token.append(UInt8(ascii: "."))
        Base64URL.append(payload, to: &token)
        let signature = try signature(over: token, algorithm: algorithm)
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &token)
        return String(decoding: token, as: UTF8.self)
    }

    /// A compact JWS over these JSON texts, written as they stand: `sign(header: #"{"alg":"none"}"#, …)`.
    package func sign(header: String, payload: String, algorithm: SignatureAlgorithm? = nil) throws -> String {
        try sign(header: header.utf8, payload: payload.utf8, algorithm: algorithm)
    }

    /// A compact JWS over these values.
    package func sign(header: JSONObject, payload: JSONObject, algorithm: SignatureAlgorithm? = nil) throws -> String {
        try sign(header: header.octets, payload: payload.octets, algorithm: algorithm)
    }

    /// A compact JWS with the honest header of this key: `alg`, `kid`, and `typ` where given.
    package func sign(claims: JSONObject, type: String? = "JWT") throws -> String {
        try sign(header: header(type: type), payload: claims)
    }

    /// The honest header of this key.
    package func header(type: String? = "JWT") -> JSONObject {
        JSONObject([
            "alg": .string(algorithm.rawValue), "kid": keyID.map { .string($0) }, "typ": type.map { .string($0) },
        ])
    }

    /// The JWKS document with the public halves of `keys`.
    package static func document(_ keys: [TestKey]) throws -> [UInt8] {
        try JSONWebKeySet(keys.map(\.publicKey)).document
    }

    private static func parameters(of secret: Secret) throws -> JSONWebKey.Parameters {
        func ec(_ curve: JSONWebKey.Curve, _ point: Data) -> JSONWebKey.Parameters {
            let coordinates = point.dropFirst()
            return .ec(
                curve, x: Array(coordinates.prefix(curve.coordinateCount)),
                y: Array(coordinates.suffix(curve.coordinateCount)))
        }
        switch secret {
        case .rsa(let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            return .rsa(modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
        case .p256(let key): return ec(.p256, key.publicKey.x963Representation)
        case .p384(let key): return ec(.p384, key.publicKey.x963Representation)
        case .p521(let key): return ec(.p521, key.publicKey.x963Representation)
        case .ed25519(let key): return .ed25519(Array(key.publicKey.rawRepresentation))
        }
    }
}

extension JSONObject {
    /// In this order. A member without a value is left out.
    package init(_ members: KeyValuePairs<String, JSONValue?>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
