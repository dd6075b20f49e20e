// The Swift of the library's pages. Each block there stands here as it is: see `SnippetTests`.

import NativeSSOClient

// An app's first exchange.
func firstExchange(
    shared: any Keychain, own: any Keychain, transport: any HTTPTransport
) async throws -> TransportResponse {
    let app = AppLogin(
        .init(
            broker: "https://sso.example.com", provider: "https://idp.example.com", clientID: "app-two",
            redirectURI: "com.example.two:/callback"),
        shared: shared, own: own, transport: transport)
    return try await app.send(TransportRequest("https://api.example.com/orders"))
}

// The tutorial.
func makeApp(
    _ clientID: String, shared: any Keychain, own: any Keychain, transport: any HTTPTransport
) -> AppLogin {
    let configuration = AppLogin.Configuration(
        broker: "https://sso.example.com", provider: "https://idp.example.com", clientID: clientID,
        redirectURI: "com.example.\(clientID):/callback")
    return AppLogin(configuration, shared: shared, own: own, transport: transport)
}

func logIn(_ app: AppLogin, _ browser: AppLogin.Browser) async throws(ClientError) -> String {
    let login = try await app.logIn(in: browser)
    return login.claims.name ?? login.claims.user.subject
}

func orders(_ app: AppLogin, _ browser: @escaping AppLogin.Browser) async throws(ClientError) -> [UInt8] {
    try await app.send(TransportRequest("https://api.example.com/orders"), loggingInWith: browser).body
}

func start(_ app: AppLogin, _ browser: @escaping AppLogin.Browser) async -> Bool {
    if (try? await app.accessToken()) != nil { return true }
    return (try? await app.logInSilently(within: .seconds(5), in: browser)) != nil
}

func signOut(_ app: AppLogin, _ browser: AppLogin.Browser) async throws(ClientError) {
    try await app.signOutAtProvider(returningTo: "com.example.app-one:/signed-out", in: browser)
    try await app.signOut(.device)
}
