import FoundationEssentials
import IdentityProvider
import NativeSSO
import StrictCoding

/// An absolute https URL; http only where the caller allows it, and then only for a host that is this machine.
struct WebURL: Sendable, Hashable {
    let string: String
    /// Lower case; an IPv6 address in brackets.
    let host: String

    /// Refuses user information and fragments, which no request carries.
    init(_ text: String, allowsLoopbackHTTP: Bool) throws(ValueDefect) {
        guard text.utf8.count <= 512, text.isPrintableASCII(except: UInt8(ascii: " ")) else {
            throw ValueDefect("write a URL of at most 512 printable ASCII characters, without spaces")
        }
        let isHTTP = text.hasPrefix("http://")
        guard isHTTP || text.hasPrefix("https://"),
            let parts = URLComponents(string: text, encodingInvalidCharacters: false),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty
        else { throw ValueDefect("write a URL that begins with https:// and a host") }
        guard parts.user == nil, parts.password == nil, !text.utf8.contains(UInt8(ascii: "@")) else {
            throw ValueDefect("must not contain user information (name or password before @)")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw ValueDefect("must not contain a fragment (#)") }
        if isHTTP {
            guard allowsLoopbackHTTP else {
                throw ValueDefect("must begin with https:// (http only for a loopback host, with development: true)")
            }
            guard Self.loopbackHosts.contains(host) else {
                throw ValueDefect("http is only for localhost, 127.0.0.1 and [::1]; write https://")
            }
        }
        string = text
        self.host = host
    }

    /// Names that stand for this machine, as `Host` values of development URLs.
    static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    var hasQuery: Bool { string.utf8.contains(UInt8(ascii: "?")) }

    /// Whether a browser or resolver would take the host for an address: brackets, or a last label that is a number, in
    /// any notation (`127.1`, `0x7f000001`, `2130706433`).
    var hasAddressAsHost: Bool {
        if host.hasPrefix("[") { return true }
        guard let label = host.split(separator: ".").last else { return false }
        if label.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        return label.hasPrefix("0x") && label.dropFirst(2).allSatisfy(\.isHexDigit)
    }
}

extension ProviderURL {
    /// By the rules of ``WebURL``, which are not looser than its own.
    init(_ text: String, isDevelopment: Bool) throws(ValueDefect) {
        _ = try WebURL(text, allowsLoopbackHTTP: isDevelopment)
        guard let url = ProviderURL(text, allowsLoopbackHTTP: isDevelopment) else {
            throw ValueDefect("is not a URL that can be fetched")
        }
        self = url
    }
}

/// `iss` as a URL: https, without query and fragment (OpenID Connect Discovery 1.0 §3), with a host name rather than an
/// address.
enum IssuerURL {
    static let trailingSlashWarning =
        "ends with a slash: issuers are compared octet by octet, so iss in every id_token must end with it as well"

    /// The broker's own issuer. A trailing slash is refused: an API may be configured with the other spelling.
    static func parseOwn(_ text: String, isDevelopment: Bool) throws(ValueDefect) -> Issuer {
        let issuer = try parse(text, isDevelopment: isDevelopment)
        guard !issuer.hasTrailingSlash else {
            throw ValueDefect("must not end with a slash: issuers are compared octet by octet")
        }
        return issuer
    }

    static func parse(_ text: String, isDevelopment: Bool) throws(ValueDefect) -> Issuer {
        let url = try WebURL(text, allowsLoopbackHTTP: isDevelopment)
        guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
        guard isDevelopment || !url.hasAddressAsHost else {
            throw ValueDefect("must name a host, not an IP address (except with development: true)")
        }
        guard let issuer = Issuer(text) else { throw ValueDefect("is not an issuer") }
        return issuer
    }
}

extension Issuer {
    /// Issuers are compared octet by octet, so a trailing slash makes another issuer.
    var hasTrailingSlash: Bool { string.utf8.last == UInt8(ascii: "/") }

    var withoutTrailingSlash: String { hasTrailingSlash ? String(string.dropLast()) : string }

    /// OpenID Connect Discovery 1.0 §4: a trailing slash is removed before the well-known path is appended.
    var discoveryURL: String {
        withoutTrailingSlash + "/.well-known/openid-configuration"
    }
}
