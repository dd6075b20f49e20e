import JOSE
import Foundation
import StrictCoding
import BrokerHarness

/// The whole environment, started once for all tests that look at it.
final class Development: Sendable {
    static let source = "app-one"
    static let target = "app-two"

    private static let starting = Task { Development(try await DevelopmentRun()) }
    static var shared: Development { get async throws { try await starting.value } }

    let development: DevelopmentRun

    private init(_ development: DevelopmentRun) { self.development = development }

    /// The first user logs in through the page, for the first app.
    func logIn(_ profile: NativeProfile) async throws -> BrowserLogin.Outcome {
        let user = try user()
        return try await BrowserLogin(
            port: try development.port("identity_provider.issuer"), client: Self.source,
            redirectURI: try redirectURI(of: Self.source), username: user.name, password: user.password
        ).run(profile)
    }

    func user() throws -> (name: String, password: String) {
        let file = URL(filePath: try development.text("identity_provider.users"))
        let users = try JSONReader.parse(Array(try Data(contentsOf: file))).object?.array("users") ?? []
        guard let user = users.first?.object, let name = user.string("username"), let password = user.string("password")
        else { throw DevelopmentRun.Missing(path: "a user") }
        return (name, password)
    }

    func exchange(
        _ login: BrowserLogin.Outcome, _ profile: NativeProfile, client: String = Development.target
    ) throws -> TokenForm {
        .exchange(
            login.idToken, issuer: try development.text("identity_provider.issuer"), device: login.device,
            profile: profile, client: client)
    }

    func token(_ form: TokenForm) async throws -> HTTPAnswer {
        try await HTTPRequest.token(form.parameters).send(to: try development.port("broker.token_endpoint"))
    }

    /// Of an access token, once its signature is found to be the broker's.
    func verifiedClaims(of token: String) async throws -> JSONObject {
        let document = try await HTTPRequest("GET", "/.well-known/jwks.json").send(
            to: try development.port("broker.internal"))
        let keys = try JSONWebKeySet(document: document.body)
        let jws = try CompactJWS(token)
        let verified = try jws.verified(by: try keys.key(for: jws.header))
        guard jws.header.type == "at+jwt" else { throw JWSError.unknownKey }
        return verified.claims
    }

    func redirectURI(of client: String) throws -> String {
        let clients = (development.description.array("clients") ?? []).compactMap(\.object)
        guard let uri = clients.first(where: { $0.string("client_id") == client })?.string("redirect_uri") else {
            throw DevelopmentRun.Missing(path: "a redirect URI")
        }
        return uri
    }
}
