package import JOSE
package import NativeSSO
import StrictCoding

/// Signing keys in AWS KMS, which never leave it. MAC keys are wrapped by a key there: each broker has them unwrapped at its
/// start, and then makes tags by itself.
///
/// References: `aws-kms:` and the id of a signing key; `aws-kms:`, the name of a MAC key, a colon and the wrapped key in
/// base64url. Every other reference is a file.
package struct KMSKeyProvider: KeyProvider {
    private let client: KMSClient
    /// `nil`: there is no key directory.
    private let files: FileKeyProvider?

    package init(_ client: KMSClient, files: FileKeyProvider?) {
        self.client = client
        self.files = files
    }

    package func check() throws(KeyError) { try files?.check() }

    package func generateSigningKey(_ algorithm: KeyAlgorithm, modulusBits: Int) async throws(KeyError) -> GeneratedKey
    {
        let (kind, spec) = (try KMSKeyKind(algorithm), KMSKeyKind.spec(algorithm, modulusBits))
        let made = try await client.call("CreateKey", about: "a new one") { json in
            json.member("KeySpec", spec)
            json.member("KeyUsage", "SIGN_VERIFY")
            json.member("Description", "native-sso, \(algorithm.rawValue)")
        }
        guard let id = made.object("KeyMetadata")?.string("KeyId"), KMSReference.isKeyID(id) else {
            throw client.nonsense("no KeyId of a new key")
        }
        let key = try await KMSSigningKey(id, algorithm, kind, client)
        return GeneratedKey(signing: key.publicKey, reference: KMSReference.prefix + id, algorithm: algorithm)
    }

    package func generateRefreshTokenKey(id: UInt8) async throws(KeyError) -> GeneratedKey {
        try await generateMACKey(KMSReference.refreshTokenName + String(id))
    }

    package func generateDeviceKey() async throws(KeyError) -> GeneratedKey {
        try await generateMACKey(KMSReference.deviceName)
    }

    private func generateMACKey(_ name: String) async throws(KeyError) -> GeneratedKey {
        let wrappingKey = try wrappingKey()
        let secret = try MACKey.generate()
        let plaintext = unsafe secret.withUnsafeBytes { unsafe Base64.encode($0) }
        let answer = try await client.call("Encrypt", about: wrappingKey) { json in
            json.member("KeyId", wrappingKey)
            json.member("Plaintext", plaintext)
            Self.context(name, &json)
        }
        guard let wrapped = answer.string("CiphertextBlob").flatMap({ Base64.decode($0) }), !wrapped.isEmpty else {
            throw client.nonsense("no CiphertextBlob of a wrapped key")
        }
        let reference = "\(KMSReference.prefix)\(name):\(Base64URL.encode(wrapped))"
        let key = try MACKey(secret, path: name)
        return GeneratedKey(kid: try key.checkValue(), reference: reference, algorithm: .hs256, publicJWK: nil)
    }

    package func publicKey(_ record: KeyRecord) async throws(KeyError) -> JSONWebKey {
        guard case .signing(let id)? = KMSReference(record.reference) else { return try file(record).publicKey(record) }
        let key = try await KMSSigningKey.publicKey(id, record.algorithm, KMSKeyKind(record.algorithm), client)
        try record.check(Base64URL.encode(key.thumbprint), at: record.providerName)
        return key
    }

    package func signingKey(_ record: KeyRecord) async throws(KeyError) -> any SigningKey {
        guard let reference = KMSReference(record.reference) else { return try file(record).signingKey(record) }
        guard case .signing(let id) = reference, record.algorithm.serves(record.use) else {
            throw .badReference(record.reference)
        }
        let key = try await KMSSigningKey(id, record.algorithm, KMSKeyKind(record.algorithm), client)
        try record.check(Base64URL.encode(key.publicKey.thumbprint), at: record.providerName)
        return key
    }

    package func macKey(_ record: KeyRecord) async throws(KeyError) -> any MessageAuthenticator {
        guard let reference = KMSReference(record.reference) else { return try file(record).macKey(record) }
        guard record.use != .accessToken, record.algorithm == .hs256 else {
            throw .algorithmDoesNotFit(record.algorithm, record.use)
        }
        guard case .mac(let name, let wrapped) = reference, KMSReference.use(of: name) == record.use else {
            throw .badReference(record.providerName)
        }
        let wrappingKey = try wrappingKey()
        let answer = try await client.call("Decrypt", about: name) { json in
            json.member("KeyId", wrappingKey)
            json.member("CiphertextBlob", Base64.encode(wrapped))
            Self.context(name, &json)
        }
        guard let octets = answer.string("Plaintext").flatMap({ Base64.decode($0) }) else {
            throw client.nonsense("no Plaintext of a wrapped key")
        }
        let secret = unsafe try SecureBytes(capacity: max(octets.count, 1)) { secret in
            unsafe secret.copyBytes(from: octets)
            return octets.count
        }
        let key = try MACKey(secret, path: name)
        try record.check(try key.checkValue(), at: record.providerName)
        return key
    }

    package func protection(of record: KeyRecord) async throws(KeyError) -> String {
        switch KMSReference(record.reference) {
        case .signing?: return "in AWS KMS"
        case .mac?: return "wrapped by AWS KMS"
        case nil: return try file(record).protection(of: record)
        }
    }

    /// KMS deletes a signing key after seven days, its shortest time. A wrapped key is in the registry alone.
    package func destroy(_ record: KeyRecord) async throws(KeyError) {
        switch KMSReference(record.reference) {
        case .mac?: return
        case nil: try file(record).destroy(record)
        case .signing(let id)?:
            do throws(KeyError) {
                _ = try await client.call("ScheduleKeyDeletion", about: id) { json in
                    json.member("KeyId", id)
                    json.member("PendingWindowInDays", 7)
                }
            } catch .kms(.noKey), .kms(.unusableKey) {
                // It is gone, or will be.
            }
        }
    }

    private func wrappingKey() throws(KeyError) -> String {
        guard let key = client.settings.wrappingKey else { throw .kms(.noWrappingKey) }
        return key
    }

    private func file(_ record: KeyRecord) throws(KeyError) -> FileKeyProvider {
        guard let files else { throw .badReference(record.reference) }
        return files
    }

    /// KMS unwraps a key only for the name that it was wrapped for: a row of the registry cannot give it another use.
    private static func context(_ name: String, _ json: inout JSONWriter) {
        json.member("EncryptionContext", object: { json in json.member("native-sso", name) })
    }
}

extension KMSClient {
    func nonsense(_ reason: String) -> KeyError { .kms(.nonsense(endpoint: settings.endpoint, reason: reason)) }
}

enum KMSReference: Equatable {
    case signing(String)
    case mac(name: String, wrapped: [UInt8])

    static let prefix = "aws-kms:"
    static let refreshTokenName = "refresh-token-"
    static let deviceName = "device"

    /// `nil` for a reference of another provider.
    init?(_ text: String) {
        guard text.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = text.dropFirst(Self.prefix.count).split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let wrapped = Base64URL.decode(String(parts[1])) {
            self = .mac(name: String(parts[0]), wrapped: wrapped)
        } else {
            // A damaged one too: it is no file. KMS refuses it.
            self = .signing(parts.count == 1 ? String(parts[0]) : "")
        }
    }

    /// A key of the account whose credentials these are: an ARN could name another one's.
    static func isKeyID(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { octet in
                UInt8(ascii: "a")...UInt8(ascii: "f") ~= octet || UInt8(ascii: "0")...UInt8(ascii: "9") ~= octet
                    || [UInt8(ascii: "-"), UInt8(ascii: "m"), UInt8(ascii: "r"), UInt8(ascii: "k")].contains(octet)
            }
    }

    static func use(of name: String) -> KeyUse? {
        if name.hasSameOctets(as: deviceName) { return .device }
        return refreshTokenID(ofName: name) == nil ? nil : .refreshToken
    }

    /// `nil` unless the reference is that of a refresh-token key.
    static func refreshTokenID(in reference: String) -> UInt8? {
        guard case .mac(let name, _)? = KMSReference(reference) else { return nil }
        return refreshTokenID(ofName: name)
    }

    private static func refreshTokenID(ofName name: String) -> UInt8? {
        guard name.utf8.starts(with: refreshTokenName.utf8), let id = UInt8(name.dropFirst(refreshTokenName.count)),
            name.hasSameOctets(as: "\(refreshTokenName)\(id)")
        else { return nil }
        return id
    }
}

/// How KMS makes and uses keys of one algorithm.
struct KMSKeyKind: Sendable {
    /// As `SigningAlgorithm` of the API names it.
    let name: String
    /// Of an ECDSA signature; `nil` for RSA.
    let width: Int?
    let hash: TokenHashFunction

    init(_ algorithm: KeyAlgorithm) throws(KeyError) {
        hash = algorithm.hashFunction
        switch algorithm {
        case .es256: (name, width) = ("ECDSA_SHA_256", 32)
        case .es384: (name, width) = ("ECDSA_SHA_384", 48)
        case .rs256: (name, width) = ("RSASSA_PKCS1_V1_5_SHA_256", nil)
        case .ps256: (name, width) = ("RSASSA_PSS_SHA_256", nil)
        case .edDSA, .hs256: throw .kms(.unsupported(algorithm: algorithm.rawValue))
        }
    }

    static func spec(_ algorithm: KeyAlgorithm, _ modulusBits: Int) -> String {
        switch algorithm {
        case .es256: "ECC_NIST_P256"
        case .es384: "ECC_NIST_P384"
        default: "RSA_\(modulusBits)"
        }
    }
}
