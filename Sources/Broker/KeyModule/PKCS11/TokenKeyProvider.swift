import COpenSSL
import CPKCS11
package import JOSE
package import NativeSSO
import StrictCoding

/// Keys in a PKCS#11 token; MAC keys in files if the token knows no HMAC. A key that is made in the token never leaves it.
///
/// The reference of a key in the token is a URI (RFC 7512): `pkcs11:object=` and the label. Every other reference is a file.
package struct TokenKeyProvider: KeyProvider {
    private let token: Token
    private let files: FileKeyProvider

    package init(_ token: Token, files: FileKeyProvider) {
        self.token = token
        self.files = files
    }

    /// The directory is needed only for keys that are files.
    package func check() throws(KeyError) {}

    package func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey
    {
        let kind = try TokenKeyKind(algorithm)
        var randomness = SystemRandomNumberGenerator()
        let label =
            "native-sso-" + Hexadecimal.encode((0..<8).map { _ in UInt8.random(in: .min ... .max, using: &randomness) })
        let attributes = kind.publicAttributes(modulusBits: modulusBits)
        try await token.perform { session throws(TokenDefect) in
            try session.generate(kind.generation, label, public: attributes)
        }
        let key: TokenSigningKey
        do throws(KeyError) {
            key = try await TokenSigningKey(label, algorithm, kind, token)
        } catch {
            // Without a record, no broker would use it.
            _ = try? await token.perform { session throws(TokenDefect) in try session.destroy(label) }
            throw error
        }
        return GeneratedKey(signing: key.publicKey, reference: TokenReference.prefix + label, algorithm: algorithm)
    }

    package func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        guard try await makesMACKeys() else { return try files.generateRefreshTokenKey(id: id) }
        return try await generateMACKey(TokenReference.refreshTokenLabel + String(id))
    }

    package func generateDeviceKey() async throws(KeyError) -> GeneratedKey {
        guard try await makesMACKeys() else { return try files.generateDeviceKey() }
        return try await generateMACKey(TokenReference.deviceLabel)
    }

    private func makesMACKeys() async throws(KeyError) -> Bool {
        try await token.perform { (session) throws(TokenDefect) in session.makesMACKeys() }
    }

    private func generateMACKey(_ label: String) async throws(KeyError) -> GeneratedKey {
        try await token.perform { session throws(TokenDefect) in
            guard try session.objects(CKO_SECRET_KEY, label).isEmpty else { throw .exists(label: label) }
            try session.generateMACKey(label)
        }
        let kid = Base64URL.encode(try await TokenMACKey(label: label, token: token).tag(MACKey.checkMessage))
        return GeneratedKey(kid: kid, reference: TokenReference.prefix + label, algorithm: .hs256, publicJWK: nil)
    }

    package func publicKey(_ record: KeyRecord) throws(KeyError) -> JSONWebKey { try files.publicKey(record) }

    package func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        guard let label = TokenReference.label(in: record.reference) else { return try files.signingKey(record) }
        let key = try await TokenSigningKey(label, record.algorithm, TokenKeyKind(record.algorithm), token)
        try record.check(Base64URL.encode(key.publicKey.thumbprint), at: record.reference)
        return key
    }

    package func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        guard let label = TokenReference.label(in: record.reference) else { return try files.macKey(record) }
        guard record.use != .accessToken, record.algorithm == .hs256 else {
            throw .algorithmDoesNotFit(record.algorithm, record.use)
        }
        let key = TokenMACKey(label: label, token: token)
        try record.check(Base64URL.encode(try await key.tag(MACKey.checkMessage)), at: record.reference)
        return key
    }

    package func protection(of record: KeyRecord) throws(KeyError) -> String {
        guard TokenReference.label(in: record.reference) != nil else { return try files.protection(of: record) }
        return "in a PKCS#11 token"
    }

    package func destroy(_ record: KeyRecord) async throws(KeyError) {
        guard let label = TokenReference.label(in: record.reference) else { return try files.destroy(record) }
        try await token.perform { session throws(TokenDefect) in try session.destroy(label) }
    }
}

enum TokenReference {
    static let prefix = "pkcs11:object="

    static let refreshTokenLabel = "native-sso-refresh-token-"
    static let deviceLabel = "native-sso-device"

    /// `nil` unless the reference is that of a refresh-token key in a token.
    static func refreshTokenID(in reference: String) -> UInt8? {
        guard let label = label(in: reference), label.utf8.starts(with: refreshTokenLabel.utf8) else { return nil }
        return UInt8(label.dropFirst(refreshTokenLabel.count))
    }

    /// `nil` for a reference of another provider.
    static func label(in reference: String) -> String? {
        guard reference.utf8.starts(with: prefix.utf8) else { return nil }
        let label = String(reference.dropFirst(prefix.count))
        let isPlain = label.utf8.allSatisfy { octet in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= octet || UInt8(ascii: "0")...UInt8(ascii: "9") ~= octet
                || octet == UInt8(ascii: "-")
        }
        return isPlain && !label.isEmpty ? label : nil
    }
}

/// How a token makes and uses keys of one algorithm.
struct TokenKeyKind: Sendable {
    let generation: UInt
    let mechanism: UInt
    /// ECDSA signs a hash; RSA mechanisms hash by themselves.
    let hash: TokenHashFunction?
    let curve: (name: JSONWebKey.Curve, parameters: [UInt8])?
    let isPSS: Bool
    private let algorithm: KeyAlgorithm

    init(_ algorithm: KeyAlgorithm) throws(KeyError) {
        self.algorithm = algorithm
        isPSS = algorithm == .ps256
        switch algorithm {
        case .es256, .es384:
            (generation, mechanism) = (CKM_EC_KEY_PAIR_GEN, CKM_ECDSA)
            hash = algorithm.hashFunction
            // The object identifiers prime256v1 and secp384r1, in DER.
            curve =
                algorithm == .es256
                ? (.p256, [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
                : (.p384, [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22])
        case .rs256, .ps256:
            (generation, mechanism) = (CKM_RSA_PKCS_KEY_PAIR_GEN, isPSS ? CKM_SHA256_RSA_PKCS_PSS : CKM_SHA256_RSA_PKCS)
            (hash, curve) = (nil, nil)
        case .edDSA, .hs256: throw .token(.unsupported(algorithm: algorithm.rawValue))
        }
    }

    func publicAttributes(modulusBits: Int) -> [Attribute] {
        if let curve { return [.octets(CKA_EC_PARAMS, curve.parameters)] }
        return [
            .number(CKA_MODULUS_BITS, UInt(clamping: modulusBits)), .octets(CKA_PUBLIC_EXPONENT, [1, 0, 1]),
            .flag(CKA_ENCRYPT, false),
        ]
    }

    var pssParameters: ck_rsa_pkcs_pss_params? {
        isPSS ? ck_rsa_pkcs_pss_params(hash_alg: CKM_SHA256, mgf: CKG_MGF1_SHA256, s_len: 32) : nil
    }

    func publicParameters(_ label: String, _ session: TokenSession) throws(TokenDefect) -> JSONWebKey.Parameters {
        guard let object = try session.objects(CKO_PUBLIC_KEY, label).first else { throw .noKey(label: label) }
        let type = try session.attribute(CKA_KEY_TYPE, of: object)
        let expected = curve == nil ? CKK_RSA : CKK_EC
        guard type == Attribute.number(CKA_KEY_TYPE, expected).value else {
            throw .wrongKind(label: label, expected: algorithm.rawValue)
        }
        guard let curve else {
            return .rsa(
                modulus: try session.attribute(CKA_MODULUS, of: object),
                exponent: try session.attribute(CKA_PUBLIC_EXPONENT, of: object))
        }
        // An uncompressed point in a DER OCTET STRING; some tokens leave the DER out.
        let point = try session.attribute(CKA_EC_POINT, of: object)
        let width = curve.name.coordinateCount
        let octets = Array(point.suffix(1 + 2 * width))
        guard try session.attribute(CKA_EC_PARAMS, of: object) == curve.parameters, octets.count == 1 + 2 * width,
            octets[0] == 4
        else { throw .wrongKind(label: label, expected: algorithm.rawValue) }
        return .ec(curve.name, x: Array(octets[1...width]), y: Array(octets[(1 + width)...]))
    }
}

struct TokenMACKey: MessageAuthenticator {
    let label: String
    let token: Token

    func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError> {
        let label = label
        return token.begin { session throws(TokenDefect) in
            guard try session.isMACKey(label) else { throw .wrongKind(label: label, expected: "HS256") }
            return try session.sign(message, CKM_SHA256_HMAC, nil, by: label)
        }
    }
}

struct TokenSigningKey: SigningKey {
    let publicKey: JSONWebKey
    let algorithm: KeyAlgorithm
    private let label: String
    private let kind: TokenKeyKind
    private let token: Token

    /// Reads the public key, and checks by one signature that the private key belongs to it and that the token knows the
    /// mechanism.
    init(_ label: String, _ algorithm: KeyAlgorithm, _ kind: TokenKeyKind, _ token: Token) async throws(KeyError) {
        let parameters = try await token.perform { session throws(TokenDefect) in
            try kind.publicParameters(label, session)
        }
        publicKey = try JSONWebKey(signing: parameters, algorithm)
        self.algorithm = algorithm
        self.label = label
        self.kind = kind
        self.token = token
        let message = Array("native-sso key check".utf8)
        let signature = try await signature(over: message)
        guard let name = publicKey.algorithm, publicKey.verifies(signature, of: message, algorithm: name) else {
            throw .token(.wrongKind(label: label, expected: algorithm.rawValue))
        }
    }

    var failure: KeyError? { token.failure.map(KeyError.token) }

    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError> {
        let (label, kind) = (label, kind)
        return token.begin { session throws(TokenDefect) in
            try session.sign(
                kind.hash?.digest(message) ?? message, kind.mechanism, kind.pssParameters, by: label)
        }
    }
}
