import StrictCoding

/// An identifier of the protocol: printable ASCII (%x20-7E), never empty, of bounded length.
///
/// The initializer checks the character set. For ASCII, `==` on strings compares octets, although Swift compares by
/// Unicode canonical equivalence. A mix-up of two kinds of identifier does not compile.
package protocol ProtocolIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The longest value accepted, in octets.
    static var maximumLength: Int { get }

    var string: String { get }

    init(validated string: String)
}

extension ProtocolIdentifier {
    /// For a kind of identifier that states no other.
    package static var maximumLength: Int { 255 }

    /// `nil` if `string` is empty, too long, or holds anything outside %x20-7E.
    package init?(_ string: String) {
        guard !string.isEmpty, string.utf8.count <= Self.maximumLength, string.isPrintableASCII() else { return nil }
        self.init(validated: string)
    }

    package var description: String { string }
}

/// `client_id` of an app. RFC 6749 App. A.1 (VSCHAR).
package struct ClientID: ProtocolIdentifier {
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// `kid` of a client's key. RFC 7517 §4.5.
package struct ClientKeyID: ProtocolIdentifier {
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// `iss` of an identity provider, or ours. Compared octet by octet, with no normalisation. OpenID Connect Core §2.
package struct Issuer: ProtocolIdentifier {
    package static let maximumLength = 512
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// `sid`: a session at one issuer; unique only together with the issuer. OpenID Connect Back-Channel Logout §2.1.
package struct SessionID: ProtocolIdentifier {
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// `sub`: the user at one issuer, at most 255 ASCII characters. OpenID Connect Core §2.
package struct Subject: ProtocolIdentifier {
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// The name of a client-sharing group.
package struct GroupID: ProtocolIdentifier {
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// RFC 7638 SHA-256 thumbprint of a client's proof key (`cnf.jkt`, RFC 9449 §6.1), base64url.
package struct KeyThumbprint: ProtocolIdentifier {
    package static let maximumLength = 43
    package let string: String
    package init(validated string: String) { self.string = string }
}

/// The version of Native SSO that a request follows. The `actor_token_type` selects it, never a claim of the id_token.
package enum Profile: String, Sendable, CaseIterable {
    /// The 2018 slides: the app makes a `device_id`, the id_token holds `di_hash`.
    case deviceID = "device-id"

    /// Drafts 02 to 06: `device_secret` and `ds_hash` under the older `urn:x-oath:` type.
    case deviceSecretTransitional = "device-secret-x-oath"

    /// Draft 07, the second Implementer's Draft: `device_secret` and `ds_hash` under `urn:openid:`.
    case deviceSecret = "device-secret"

    /// Native SSO draft 07 §4.1: a `scope`, if present, must contain `openid`. Older versions do not require it.
    package var requiresOpenIDScope: Bool { self == .deviceSecret }
}

/// How and when the user authenticated at the identity provider. The broker copies it into every token of the login; an
/// exchange does not change it. RFC 9068 §2.2.1.
package struct Login: Hashable, Sendable {
    package var authenticatedAt: UnixTime?
    /// `acr`: the authentication context class that the login satisfied.
    package var contextClass: String?
    /// `amr`: the methods used.
    package var methods: [String]

    package init(authenticatedAt: UnixTime? = nil, contextClass: String? = nil, methods: [String] = []) {
        self.authenticatedAt = authenticatedAt
        self.contextClass = contextClass
        self.methods = methods
    }
}
