import NativeSSO

/// `iss` as a URL: https, without query and fragment (OpenID Connect Discovery 1.0 §3), on a name rather than an address.
enum IssuerURL {
    static let trailingSlashWarning =
        "ends with a slash: issuers are compared octet by octet, so iss in every id_token must end with it as well"

    /// The broker's own. Nothing obliges it to end with a slash, as an identity provider's may: whoever writes one has APIs that
    /// are told the other.
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
    /// Issuers are compared octet by octet, so that with and without the slash are two of them.
    var hasTrailingSlash: Bool { string.utf8.last == UInt8(ascii: "/") }

    var withoutTrailingSlash: String { hasTrailingSlash ? String(string.dropLast()) : string }

    /// OpenID Connect Discovery 1.0 §4: a trailing slash is removed before the well-known path is appended.
    var discoveryURL: String {
        withoutTrailingSlash + "/.well-known/openid-configuration"
    }
}
