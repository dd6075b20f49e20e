import AsyncHTTPClient

/// The HTTP client of apps and browser. It follows no redirect by itself: a token endpoint never sends one, and the browser
/// wants to see each.
enum PlainHTTP {
    static let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: configuration)

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Everything is on this machine, or not there.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
