import HTTPServer
import StrictCoding

/// A safe connection URI of libpq. It contains no secret, and a connection to another host uses TLS with a checked name.
/// libpq's default, `sslmode=prefer`, falls back to plain text if the server offers no TLS.
///
/// libpq parses the URL again. The URL is refused if libpq could see other parts than this parser.
struct DatabaseURL: Sendable, Hashable {
    let string: String

    init(_ text: String) throws(ValueDefect) {
        guard text.hasPrefix("postgresql://"), text.isPrintableASCII(except: UInt8(ascii: " ")) else {
            throw ValueDefect(
                "write a URL that begins with postgresql://, such as postgresql://broker@%2Frun%2Fpostgresql/native_sso"
            )
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw ValueDefect("must not contain a fragment (#)") }
        let parts = text.dropFirst("postgresql://".count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parameters = try Self.parameters(parts.count == 2 ? parts[1] : "")
        if let mode = parameters["sslmode"], !Self.modes.contains(mode) {
            throw ValueDefect("sslmode must be one of \(Self.modes.joined(separator: ", "))")
        }
        let authority = parts[0].prefix { $0 != "/" }
        let hosts = try Self.hosts(authority, parameters)
        guard !hosts.isEmpty else {
            throw ValueDefect("must name a host or the directory of a Unix socket, such as %2Frun%2Fpostgresql")
        }
        guard parameters["sslmode"] == "verify-full" || hosts.allSatisfy(Self.isLocal) else {
            throw ValueDefect("on the way to another host sslmode=verify-full is required; add it to the query")
        }
        string = text
    }

    private static let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

    // MARK: Parts

    /// Every host that libpq may connect to. `host` and `hostaddr` of the query take precedence over the authority.
    private static func hosts(_ authority: Substring, _ parameters: [String: String]) throws(ValueDefect) -> [String] {
        var list = authority
        if let at = authority.firstIndex(of: "@") {
            guard !authority[..<at].contains(":") else { throw withPassword }
            list = authority[authority.index(after: at)...]
        }
        guard !list.contains("@") else { throw strayAt }
        var hosts: [String] = []
        for element in list.split(separator: ",") {
            guard let name = hostName(of: element) else {
                throw ValueDefect("must have an IPv6 address in [brackets], and nothing but a port after them")
            }
            guard let host = decoded(name) else { throw ValueDefect("has a broken % escape") }
            // libpq splits the hosts once more after it has decoded them.
            guard !host.contains(",") else { throw ValueDefect("must not have an escaped comma (%2C) in a host") }
            hosts.append(host)
        }
        for key in ["host", "hostaddr"] {
            hosts += parameters[key]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        return hosts
    }

    /// `nil` for unclosed brackets, or for text other than a port after them: libpq continues to the next `]`.
    private static func hostName(of element: Substring) -> Substring? {
        guard element.hasPrefix("[") else { return element.prefix { $0 != ":" } }
        guard let end = element.firstIndex(of: "]") else { return nil }
        let rest = element[element.index(after: end)...]
        guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
        return element[..<end].dropFirst()
    }

    private static func parameters(_ query: Substring) throws(ValueDefect) -> [String: String] {
        // libpq looks for the end of the user's name before it looks for a query.
        guard !query.contains("@") else { throw strayAt }
        var parameters: [String: String] = [:]
        for parameter in query.split(separator: "&") {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = decoded(parts[0]), let value = decoded(parts[1]) else {
                throw ValueDefect("has a query parameter that is not name=value")
            }
            if let reason = refused[name] { throw ValueDefect(reason) }
            guard parameters.updateValue(value, forKey: name) == nil else {
                throw ValueDefect("must not give a query parameter twice")
            }
        }
        return parameters
    }

    private static let withPassword = ValueDefect(
        "must not contain a password; write it to a file and name that as database.password_file")

    private static let strayAt = ValueDefect("must have no @ but the one before the host; write it as %40")

    private static let refused = [
        "password": withPassword.message,
        // libpq takes each of these for an sslmode, and whichever comes last counts.
        "requiressl": "must not give requiressl, which would override sslmode; remove it",
        "ssl": "must not give ssl, which would override sslmode; remove it",
        "sslpassword":
            "must not contain a password (sslpassword); use a client key without one, readable by its owner only",
        "passfile": "must not name a password file; name it as database.password_file",
        "service": "must not name a service, which could replace every other setting; write the settings here",
        "servicefile": "must not name a service file, which could replace every other setting; write the settings here",
    ]

    private static func isLocal(_ host: String) -> Bool {
        // libpq: a name that begins with a slash is a socket directory, with @ a socket in the abstract namespace.
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || NetworkAddress(host)?.isLoopback == true
    }

    private static func decoded(_ text: Substring) -> String? {
        var (octets, rest) = ([UInt8](), Array(text.utf8)[...])
        while let octet = rest.popFirst() {
            if octet != UInt8(ascii: "%") {
                octets.append(octet)
            } else {
                guard rest.count >= 2, let escaped = Hexadecimal.decode(rest.prefix(2)) else { return nil }
                octets += escaped
                rest = rest.dropFirst(2)
            }
        }
        return String(validating: octets, as: UTF8.self)
    }
}
