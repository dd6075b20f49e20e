import BrokerTesting
import JOSE
@testable import NativeSSOClient
import OAuthWire
import StrictCoding
import Testing

/// An IdP, a broker and an API, as far as an app sees them. A test replaces the answer of an address.
actor Site: HTTPTransport {
    static let provider = "https://idp.example.com"
    static let broker = "https://sso.example.com"
    static let api = "https://api.example.com/orders"

    typealias Answer = @Sendable (TransportRequest, Site) async throws -> TransportResponse

    private(set) var requests: [TransportRequest] = []
    private(set) var addresses: [String] = []
    private var answers: [String: Answer] = [:]
    private var key: TestKey
    /// Of the last authorization request.
    private(set) var nonce = ""
    /// The user who logs in in the browser.
    var user = "alice"
    private var count = 0

    init() throws {
        key = try TestKey.shared(.es256)
        for (issuer, more) in [
            (
                Self.provider,
                #","authorization_endpoint":"\#(Self.provider)/authorize","userinfo_endpoint":"\#(Self.provider)/me","end_session_endpoint":"\#(Self.provider)/logout""#
            ),
            (Self.broker, #","revocation_endpoint":"\#(Self.broker)/revoke""#),
        ] {
            answers[issuer + "/.well-known/openid-configuration"] = Self.text(
                #"{"issuer":"\#(issuer)","token_endpoint":"\#(issuer)/token","jwks_uri":"\#(issuer)/jwks"\#(more)}"#)
            answers[issuer + "/jwks"] = { _, site in
                TransportResponse(status: 200, body: try TestKey.document([await site.key]))
            }
        }
        answers[Self.provider + "/token"] = { _, site in try await site.login(Self.provider) }
        answers[Self.broker + "/token"] = { request, site in try await site.grant(request) }
        answers[Self.broker + "/revoke"] = { _, _ in TransportResponse(status: 200) }
        answers[Self.provider + "/me"] = { _, site in
            TransportResponse(status: 200, body: Array(#"{"sub":"\#(await site.user)","email":"a@example.test"}"#.utf8))
        }
        answers[Self.api] = { _, _ in TransportResponse(status: 200, body: Array("orders".utf8)) }
    }

    static func text(_ text: String, status: Int = 200) -> Answer {
        { _, _ in TransportResponse(status: status, body: Array(text.utf8)) }
    }

    func answer(_ address: String, _ answer: @escaping Answer) { answers[address] = answer }
    func set(user: String) { self.user = user }
    func rotate() throws {
        count += 1
        key = try TestKey(.es256, keyID: "next-\(count)")
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        requests.append(request)
        let answer = try #require(answers[request.address], "no answer to \(request)")
        return try await answer(request, self)
    }

    /// The forms that went to this address.
    func forms(_ address: String) throws -> [FormParameters] {
        try requests.filter { $0.address == address }.map { try FormDecoder.decode($0.body) }
    }

    /// A browser in which the user logs in at once.
    nonisolated var browser: AppLogin.Browser {
        { [self] address in try await visit(address, adding: "code=c0de") }
    }

    func visit(_ address: String, adding answer: String) throws -> String {
        addresses.append(address)
        let query = try FormDecoder.decode(try #require(address.split(separator: "?").last).utf8)
        nonce = query["nonce"] ?? ""
        let target = query["redirect_uri"] ?? query["post_logout_redirect_uri"] ?? ""
        return "\(target)?\(answer)&state=\(query["state"] ?? "")"
    }

    /// The claims of an id_token for the last authorization request.
    func idToken(_ issuer: String, _ changes: [(String, JSONValue?)] = [], by other: TestKey? = nil) throws -> String {
        count += 1
        var claims = JSONObject()
        claims["iss"] = .string(issuer)
        claims["sub"] = .string(user)
        claims["aud"] = .string("app-one")
        claims["exp"] = .number(JSONNumber(1_800_000_300))
        claims["iat"] = .number(JSONNumber(1_800_000_000))
        claims["sid"] = .string("sid-\(count)")
        claims["nonce"] = .string(nonce)
        for (name, value) in changes { claims[name] = value }
        return try (other ?? key).sign(claims: claims, type: "JWT")
    }

    /// What the IdP answers to a code; and the broker to one that it redeems.
    func login(
        _ issuer: String, _ changes: [(String, JSONValue?)] = [], by other: TestKey? = nil
    ) throws -> TransportResponse {
        let idToken = try idToken(issuer, changes, by: other)
        return TransportResponse(
            status: 200,
            body: Array(
                #"{"access_token":"idp-at","token_type":"Bearer","id_token":"\#(idToken)","device_secret":"S\#(count)"}"#
                    .utf8))
    }

    /// What the broker answers to a token request.
    func grant(_ request: TransportRequest) throws -> TransportResponse {
        let form = try FormDecoder.decode(request.body)
        if form["grant_type"] == GrantType.authorizationCode.rawValue { return try login(Self.broker) }
        if form["requested_token_type"] == TokenTypeURI.idToken.rawValue {
            return try login(Self.broker, [("nonce", nil)])
        }
        count += 1
        return TransportResponse(
            status: 200,
            body: Array(
                #"{"access_token":"at\#(count)","token_type":"Bearer","expires_in":300,"refresh_token":"rt\#(count)"}"#
                    .utf8))
    }
}

/// A device with the vendor's apps.
struct Phone {
    let site: Site
    let shared = InMemoryKeychain()

    init() throws { site = try Site() }

    func app(
        _ clientID: String = "app-one", own: InMemoryKeychain = InMemoryKeychain(), prover: DPoPProver? = nil,
        change: (inout AppLogin.Configuration) -> Void = { _ in }
    ) -> AppLogin {
        var configuration = AppLogin.Configuration(
            broker: Site.broker, provider: Site.provider, clientID: clientID,
            redirectURI: "com.example.\(clientID):/callback")
        change(&configuration)
        return AppLogin(
            configuration, shared: shared, own: own, transport: site, prover: prover, now: { 1_800_000_000 })
    }

    func refusal(_ work: () async throws(ClientError) -> Void) async throws -> ClientError {
        do throws(ClientError) {
            try await work()
        } catch {
            return error
        }
        throw Nothing()
    }

    private struct Nothing: Error {}
}
