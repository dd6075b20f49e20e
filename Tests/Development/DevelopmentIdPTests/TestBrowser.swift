import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthWire
import Testing

/// A browser as far as the provider's pages need one: it keeps cookies, reads forms and stops at redirects.
actor TestBrowser {
    private let provider: TestProvider
    private(set) var cookies: [String: String] = [:]

    init(_ provider: TestProvider) { self.provider = provider }

    func get(_ path: String) async throws -> TestResponse {
        try await send(path, .get, body: nil)
    }

    func post(_ path: String, _ form: [(name: String, value: String)]) async throws -> TestResponse {
        try await send(path, .post, body: ByteBuffer(bytes: FormEncoder.encode(form)))
    }

    /// Opens `/authorize` with the usual parameters, some of them replaced or (nil) left out.
    func authorize(_ changes: KeyValuePairs<String, String?> = [:]) async throws -> TestResponse {
        var parameters: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", "app-one"), ("redirect_uri", TestProvider.redirectURI),
            ("scope", "openid profile"), ("state", "st&te"), ("nonce", "n-0S6"),
            ("code_challenge", TestProvider.challenge), ("code_challenge_method", "S256"),
        ]
        for (name, value) in changes {
            parameters.removeAll { $0.name == name }
            if let value { parameters.append((name, value)) }
        }
        return try await get("/authorize?" + String(decoding: FormEncoder.encode(parameters), as: UTF8.self))
    }

    /// Fills and sends the login form of `page`.
    func logIn(
        on page: TestResponse, as username: String = "alice", password: String = "alice-demo-password"
    ) async throws -> TestResponse {
        try await send(formOf: page, to: "/login", [("username", username), ("password", password)])
    }

    /// Sends the form of the second factor's or the consent's page.
    func answer(_ page: TestResponse, at path: String, _ name: String, _ value: String) async throws -> TestResponse {
        try #require(String(buffer: page.body).contains("action=\"\(path)\""))
        return try await send(formOf: page, to: path, [(name, value)])
    }

    private func send(
        formOf page: TestResponse, to path: String, _ fields: [(name: String, value: String)]
    ) async throws -> TestResponse {
        let html = String(buffer: page.body)
        let hidden: [(name: String, value: String)] = try ["transaction", "csrf_token"].map {
            (name: $0, value: try #require(Self.hidden($0, in: html)))
        }
        return try await post(path, hidden + fields)
    }

    /// Logs in and gives the code that the app gets.
    func code(scope: String = "openid profile offline_access") async throws -> String {
        let answer = try await logIn(on: try await authorize(["scope": scope, "prompt": "login"]))
        return try #require(try Self.callback(answer)["code"])
    }

    func set(cookie name: String, _ value: String) { cookies[name] = value }

    /// The parameters that the app gets by redirect.
    static func callback(
        _ response: TestResponse, at redirectURI: String = TestProvider.redirectURI
    ) throws -> FormParameters {
        #expect(response.status == .seeOther)
        let location = try #require(response.headers[.location])
        let prefix = redirectURI + "?"
        try #require(location.hasPrefix(prefix), "redirected to \(location)")
        return try FormDecoder.decode(location.dropFirst(prefix.count).utf8)
    }

    static func hidden(_ name: String, in html: String) -> String? {
        let marker = "name=\"\(name)\" value=\""
        guard let range = html.firstRange(of: marker) else { return nil }
        return String(html[range.upperBound...].prefix { $0 != "\"" })
    }

    private func send(_ path: String, _ method: HTTPRequest.Method, body: ByteBuffer?) async throws -> TestResponse {
        var headers: HTTPFields = [:]
        if !cookies.isEmpty { headers[.cookie] = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        if body != nil { headers[.contentType] = "application/x-www-form-urlencoded" }
        let response = try await provider.http.execute(uri: path, method: method, headers: headers, body: body)
        for text in response.headers[values: .setCookie] {
            let pair = text.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try #require(pair.count == 2)
            cookies[String(pair[0])] = pair[1].isEmpty ? nil : String(pair[1])
        }
        return response
    }
}
