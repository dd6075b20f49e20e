import StrictCoding

/// HTTP Basic credentials of a client (RFC 7617), with the encoding of RFC 6749 §2.3.1.
public struct BasicCredentials: Sendable {
    public let clientID: String
    /// `nil` if it is empty: the client identifies itself without a secret.
    public let clientSecret: Credential?

    /// - Parameter token: The part after `Basic` and its space: strict base64 of `id:secret`, each form-encoded.
    /// - Returns: `nil` for anything else, and for characters outside %x20-7E (RFC 6749 App. A).
    public init?(token: some Collection<UInt8>) {
        // A user-id contains no colon (RFC 7617 §2), so the first colon separates.
        guard let octets = Base64.decode(token), let colon = octets.firstIndex(of: UInt8(ascii: ":")),
            let clientID = Self.text(octets[..<colon]), !clientID.isEmpty,
            let secret = Self.text(octets[(colon + 1)...])
        else { return nil }
        self.clientID = clientID
        clientSecret = secret.isEmpty ? nil : Credential(secret)
    }

    public init(clientID: String, clientSecret: Credential? = nil) {
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// The value of an `Authorization` header.
    public var headerValue: String {
        var octets: [UInt8] = []
        FormText.encode(clientID, to: &octets)
        octets.append(UInt8(ascii: ":"))
        FormText.encode(clientSecret?.secret ?? "", to: &octets)
        return "Basic \(Base64.encode(octets))"
    }

    private static func text(_ part: ArraySlice<UInt8>) -> String? {
        let text = try? part.withUnsafeBufferPointer { text throws(FormError) in try FormText.text(text.span) }
        return text.flatMap { $0.isPrintableASCII() ? $0 : nil }
    }
}

/// The `Authorization` header of a token request.
public enum AuthorizationHeader: Sendable {
    case basic(BasicCredentials)
    /// The scheme is `Basic`, but the credentials are malformed.
    case malformedBasic
    case otherScheme

    public init(_ value: String) {
        let octets = value.utf8
        let scheme = octets.prefix { $0 != UInt8(ascii: " ") }
        guard scheme.elementsEqual("basic".utf8, by: { $0 | 0x20 == $1 }) else {
            self = .otherScheme
            return
        }
        let token = octets[scheme.endIndex...].drop { $0 == UInt8(ascii: " ") }
        self = BasicCredentials(token: token).map(AuthorizationHeader.basic) ?? .malformedBasic
    }
}
