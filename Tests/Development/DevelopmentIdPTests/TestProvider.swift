import DevelopmentIdP
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import OAuthWire
import StrictCoding
import Synchronization
import Testing

/// A provider under test, served over HTTP on a port of its own, with time in the test's hand.
struct TestProvider: Sendable {
    static let issuer = "http://127.0.0.1:9000"
    static let redirectURI = "com.example.one:/callback"
    // RFC 7636 App. B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    let http: any TestClientProtocol
    let clock: TestClock
    let logouts: RecordedLogouts
    let signingKeys: SigningKeys

    static func run<Value: Sendable>(
        mode: ProviderMode = .stamping, algorithm: SigningAlgorithm = .es256, lifetimes: Lifetimes = Lifetimes(),
        _ body: @Sendable (TestProvider) async throws -> Value
    ) async throws -> Value {
        let clients = [
            RegisteredClient(
                id: "app-one", redirectURIs: [try #require(RedirectURI(redirectURI))],
                postLogoutRedirectURIs: ["com.example.one:/bye"]),
            RegisteredClient(id: "app-two", redirectURIs: [try #require(RedirectURI("http://127.0.0.1/cb"))]),
            RegisteredClient(
                id: "web", secret: Credential("a secret: +"),
                redirectURIs: [try #require(RedirectURI("https://web.example.test/cb"))]),
            RegisteredClient(
                id: "app-four", redirectURIs: [try #require(RedirectURI(redirectURI))], requiresConsent: true),
        ]
        let resources = [
            ProtectedResource(audience: "https://api-a.example.test", scope: "api:serverA"),
            ProtectedResource(audience: "https://api-b.example.test", scope: "api:serverB"),
        ]
        let clock = TestClock()
        let logouts = RecordedLogouts()
        let signingKeys = SigningKeys(try SigningKey(generating: algorithm))
        let provider = DevelopmentIdentityProvider(
            try ProviderConfiguration(
                issuer: issuer, port: 0, mode: mode, lifetimes: lifetimes, clients: clients, resources: resources),
            users: .demonstration, signingKeys: signingKeys, sessionEndListeners: [logouts],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now })
        return try await provider.application().test(.live) { http in
            try await body(TestProvider(http: http, clock: clock, logouts: logouts, signingKeys: signingKeys))
        }
    }

    /// A token request.
    func token(
        _ form: KeyValuePairs<String, String>, basic: BasicCredentials? = nil
    ) async throws -> TokenAnswer {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        if let basic { headers[.authorization] = basic.headerValue }
        let response = try await http.execute(
            uri: "/token", method: .post, headers: headers, body: ByteBuffer(bytes: FormEncoder.encode(form)))
        return try TokenAnswer(response)
    }

    func redeem(
        _ code: String, verifier: String = verifier, deviceID: String = "", deviceSecret: String = ""
    ) async throws -> TokenAnswer {
        try await token([
            "grant_type": "authorization_code", "client_id": "app-one", "code": code, "redirect_uri": Self.redirectURI,
            "code_verifier": verifier, "device_id": deviceID, "device_secret": deviceSecret,
        ])
    }

    func refresh(_ token: String?, clientID: String = "app-one", scope: String = "") async throws -> TokenAnswer {
        try await self.token([
            "grant_type": "refresh_token", "client_id": clientID, "refresh_token": token ?? "", "scope": scope,
        ])
    }

    /// The claims of an id_token, by the key that the provider publishes.
    func claims(_ idToken: String?) async throws -> JSONObject {
        let jwks = try await http.execute(uri: "/.well-known/jwks.json", method: .get)
        let keys = try JSONWebKeySet(document: jwks.body.readableBytesView)
        return try CompactJWS(try #require(idToken)).verified(by: keys, allowing: [.es256, .rs256]).claims
    }

    /// Whether the access token opens `/userinfo`.
    func opensUserInfo(_ accessToken: String?) async throws -> Bool {
        let headers: HTTPFields = [.authorization: "Bearer \(accessToken ?? "")"]
        return try await http.execute(uri: "/userinfo", method: .get, headers: headers).status == .ok
    }
}

/// What the token endpoint said.
struct TokenAnswer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let json: JSONObject

    init(_ response: TestResponse) throws {
        status = response.status
        headers = response.headers
        json = try #require(try JSONReader.parse(response.body.readableBytesView).object)
    }

    var error: String? { json.string("error") }
    var accessToken: String? { json.string("access_token") }
    var refreshToken: String? { json.string("refresh_token") }
    var idToken: String? { json.string("id_token") }
    var deviceSecret: String? { json.string("device_secret") }
}

final class TestClock: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)

    var now: Int64 { seconds.withLock { $0 } }

    func advance(by count: Int64) { seconds.withLock { $0 += count } }
}

actor RecordedLogouts: SessionEndListener {
    private(set) var all: [EndedSession] = []

    func sessionEnded(_ session: EndedSession) { all.append(session) }
}
