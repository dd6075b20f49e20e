package import JOSE
package import NativeSSO
import StrictCoding

extension KeyRecord {
    /// `file`, or the scheme of the reference, such as `pkcs11`.
    package var providerName: String {
        reference.firstIndex(of: ":").map { String(reference[..<$0]) } ?? "file"
    }
}

/// The location of a private key, relative to its provider. The database stores references, so only these forms are
/// accepted; none leads out of the key directory.
enum KeyReference: Hashable {
    case signing(kid: String)
    /// `id` is the first octet of the key's refresh tokens.
    case refreshToken(id: UInt8)
    case device

    /// `refresh-token-1.key`, `device.key`, or the `kid` with `.pem`.
    var fileName: String {
        switch self {
        case .signing(let kid): "\(kid).pem"
        case .refreshToken(let id): "refresh-token-\(id).key"
        case .device: "device.key"
        }
    }

    init?(_ text: String, use: KeyUse) {
        switch use {
        case .accessToken:
            guard text.hasSuffix(".pem") else { return nil }
            self = .signing(kid: String(text.dropLast(4)))
        case .refreshToken:
            guard let id = UInt8(text.dropFirst("refresh-token-".count).dropLast(".key".count)) else { return nil }
            self = .refreshToken(id: id)
        case .device: self = .device
        }
        // A thumbprint: 43 characters of base64url.
        if case .signing(let kid) = self, kid.utf8.count != 43 || Base64URL.decode(kid) == nil { return nil }
        guard fileName.hasSameOctets(as: text) else { return nil }
    }

    /// The id of a refresh-token key in a file or in a token; `nil` for another reference.
    static func refreshTokenID(in text: String) -> UInt8? {
        if let id = TokenReference.refreshTokenID(in: text) { return id }
        guard case .refreshToken(let id)? = KeyReference(text, use: .refreshToken) else { return nil }
        return id
    }
}

/// A MAC key in any provider: HMAC-SHA-256, RFC 2104.
package protocol MessageAuthenticator: Sendable {
    /// The tag of `message`, 32 octets.
    func beginTag(_ message: [UInt8]) -> Pending<[UInt8], KeyError>
}

extension MessageAuthenticator {
    package func tag(_ message: [UInt8]) async throws(KeyError) -> [UInt8] { try await beginTag(message).value }
}

/// A private signing key in any provider.
package protocol SigningKey: Sendable {
    /// The public half, with `kid` (its RFC 7638 thumbprint) and `alg`.
    var publicKey: JSONWebKey { get }

    var algorithm: KeyAlgorithm { get }

    /// Why it cannot sign now; `nil`: nothing is known against it. Answers at once.
    var failure: KeyError? { get }

    /// The signature of `message` in JWS form, RFC 7518 §3.3 to §3.5.
    func beginSignature(over message: [UInt8]) -> Pending<[UInt8], KeyError>
}

extension SigningKey {
    package func signature(over message: [UInt8]) async throws(KeyError) -> [UInt8] {
        try await beginSignature(over: message).value
    }
}
