import BrokerHarness
import Crypto
import Foundation
import OAuthWire
import StrictCoding

/// An OpenID provider that was written elsewhere, as a process on loopback with two registered apps and one user.
protocol ForeignProvider: Sendable {
    var port: UInt16 { get }
    var issuer: String { get }
    /// Of its endpoints.
    static var paths: (authorization: String, token: String, logout: String) { get }
    static var user: (name: String, password: String) { get }

    /// Goes through its pages from the login page to the app, as the user does.
    func logIn(_ browser: UserAgent, from page: UserAgent.Page) async throws -> UserAgent.Outcome
    /// Goes on from the page that its logout endpoint shows.
    func logOut(_ browser: UserAgent, from page: UserAgent.Page) async throws
}

/// Waits for the next second of the clock: tokens and logouts count in seconds.
func untilLaterSecond() async throws {
    func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
    let last = now()
    _ = try await eventually("a later second") { now() > last ? true : nil }
}

struct ForeignProviderFailure: Error, CustomStringConvertible {
    let description: String
}

extension ForeignProvider {
    static func redirectURI(of client: String) -> String { "com.example.\(client):/callback" }

    private var origin: String { "http://127.0.0.1:\(port)" }

    /// The code of a login for an app, and what proves that the app asked for it. The user types nothing if the browser has a
    /// login already.
    func code(_ client: String, in browser: UserAgent) async throws -> (code: String, verifier: String) {
        let verifier = Unguessable.make()
        let query = FormEncoder.encode([
            ("response_type", "code"), ("client_id", client), ("redirect_uri", Self.redirectURI(of: client)),
            ("scope", "openid profile"), ("state", "s"), ("nonce", Unguessable.make()),
            ("code_challenge", Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))),
            ("code_challenge_method", "S256"),
        ])
        var outcome = try await browser.open(
            "\(origin)\(Self.paths.authorization)?\(String(decoding: query, as: UTF8.self))")
        if case .page(let page) = outcome { outcome = try await logIn(browser, from: page) }
        guard case .app(let callback) = outcome,
            let code = URLComponents(string: callback)?.queryItems?.first(where: { $0.name == "code" })?.value
        else { throw ForeignProviderFailure(description: "no code: \(outcome)") }
        return (code, verifier)
    }

    /// A login for an app, and its token request at the provider. The answer.
    func tokens(_ client: String, in browser: UserAgent) async throws -> JSONObject {
        let (code, verifier) = try await code(client, in: browser)
        let answer = try await token([
            ("grant_type", "authorization_code"), ("client_id", client), ("code", code),
            ("redirect_uri", Self.redirectURI(of: client)), ("code_verifier", verifier),
        ])
        guard answer.status == 200, let tokens = answer.json else {
            throw ForeignProviderFailure(description: "token: \(answer.status) \(answer.text)")
        }
        return tokens
    }

    func token(_ form: [(name: String, value: String)]) async throws -> HTTPAnswer {
        try await send(.token(form, to: Self.paths.token))
    }

    /// The user leaves at the provider's logout endpoint (RP-Initiated Logout §2).
    func logOut(_ idToken: String, client: String, in browser: UserAgent) async throws {
        let query = FormEncoder.encode([("id_token_hint", idToken), ("client_id", client)])
        let outcome = try await browser.open("\(origin)\(Self.paths.logout)?\(String(decoding: query, as: UTF8.self))")
        guard case .page(let page) = outcome, page.status == 200 else {
            throw ForeignProviderFailure(description: "logout: \(outcome)")
        }
        try await logOut(browser, from: page)
    }

    private func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
        var request = request
        request.host = "127.0.0.1:\(port)"
        request.acceptsHTTP10 = true
        return try await request.send(to: port)
    }

    /// Waits until its discovery document is there.
    func untilReady(_ process: ManagedProcess) async throws {
        _ = try await eventually("\(Self.self) answers") {
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try? await discovery()
        }
    }

    func discovery() async throws -> JSONObject {
        let answer = try await send(HTTPRequest("GET", "/.well-known/openid-configuration"))
        guard answer.status == 200, let json = answer.json else {
            throw ForeignProviderFailure(description: "discovery: \(answer.status)")
        }
        return json
    }

    /// The only key of its key set.
    func key() async throws -> JSONObject? {
        guard let path = (try await discovery()).string("jwks_uri").flatMap({ URL(string: $0) })?.path() else {
            return nil
        }
        let keys = try await send(HTTPRequest("GET", path)).json?.array("keys")
        return keys?.count == 1 ? keys?.first?.object : nil
    }
}
