import IdentityProvider

extension Configuration.IdentityProvider {
    /// Where its keys come from, as the room that fetches them takes it.
    func source(isDevelopment: Bool) throws(CommandFailure) -> KeySource {
        switch keySource {
        case .discovery(let url, let hosts):
            .discovery(try Self.url(url, isDevelopment), keySetHosts: Set(hosts.map { $0.lowercased() }))
        case .keySetURL(let url): .keySet(try Self.url(url, isDevelopment))
        case .keySetFile(let path): .file(path: path)
        }
    }

    /// The configuration has checked it by rules of its own, which are not looser than these.
    private static func url(_ text: String, _ isDevelopment: Bool) throws(CommandFailure) -> ProviderURL {
        guard let url = ProviderURL(text, allowsLoopbackHTTP: isDevelopment) else {
            throw .usage("\(text) is no URL from which keys can be fetched")
        }
        return url
    }
}
