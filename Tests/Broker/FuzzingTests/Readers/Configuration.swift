import HTTPServer

@testable import PostgresClient
@testable import native_sso

extension Readers {
    /// A file; after the first NUL, which no file may hold, variables of the environment, one a line.
    static func configuration(_ octets: [UInt8]) throws -> Bool {
        let parts = octets.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let yaml = String(decoding: parts[0], as: UTF8.self)
        var environment: [String: String] = [:]
        for line in parts.dropFirst().first?.split(separator: UInt8(ascii: "\n")) ?? [] {
            let name = line.prefix { $0 != UInt8(ascii: "=") }
            environment[String(decoding: name, as: UTF8.self)] =
                String(decoding: line.dropFirst(name.count + 1), as: UTF8.self)
        }
        let reading = try? ConfigurationReader.read(yaml: yaml, file: "fuzzed.yaml", environment: environment)
        guard let configuration = reading?.configuration else { return false }
        _ = try databaseURL(configuration.database.url)
        try hold(!configuration.identityProviders.isEmpty, "a broker without an identity provider")
        let listener = configuration.publicListener
        try hold(
            listener.listen.internet?.isLoopback ?? true || listener.tls != nil || listener.plainHTTP == .behindProxy,
            "a public listener in the clear that is not on loopback, and not said to be behind a proxy")
        return true
    }

    /// What libpq reads of a URL that is accepted: only this machine, or TLS with a checked name; and nothing secret.
    static func databaseURL(_ text: String) throws -> Bool {
        guard (try? DatabaseURL(text)) != nil, let parameters = ConnectionURI.parse(text) else { return false }
        try hold(parameters["password"] == nil, "\(text): a password")
        try hold(parameters["passfile"] == nil && parameters["service"] == nil, "\(text): another file")
        guard parameters["sslmode"] != "verify-full" else { return true }
        for server in ServerAddress.all(in: parameters) {
            for host in [server.host, server.numericAddress] {
                try hold(host.map(isLocal) ?? true, "\(text): libpq connects to \(host ?? "") unverified")
            }
        }
        return true
    }

    private static func isLocal(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || NetworkAddress(host)?.isLoopback == true
    }
}
