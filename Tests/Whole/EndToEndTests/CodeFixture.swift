import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness

/// Two brokers on one database whose identity provider gives tokens for codes.
final class CodeFixture: Sendable {
    private static let starting = Task { try await CodeFixture() }
    /// Started on first use.
    static var shared: CodeFixture { get async throws { try await starting.value } }
    static let device = Unguessable.make()
    /// Codes at the identity provider at one time.
    static let slots = 4

    let provider: StubIdentityProvider
    let installation: Installation
    let broker: Broker
    let replica: Broker
    private let logins: LoginFactory

    private init() async throws {
        let key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        var configured = BrokerConfiguration.Provider(provider.issuer, admitsOnFirstSight: false)
        configured.codeRelay = "{ timeout: 5s, at_once: \(Self.slots) }"
        installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: [configured]),
            on: try await PrivateCluster.shared)
        let sql = try installation.session()
        for app in ["app-one", "app-two", "app-bound", "app-bound-two"] {
            try await sql.register(app, in: .init(group: "vendor", issuer: provider.issuer)) {
                $0.dpop = app.hasPrefix("app-bound") ? "required" : "off"
            }
        }
        logins = LoginFactory(issuer: provider.issuer, key: key, source: "app-one", target: "app-two")
        broker = try await installation.startBroker().ready()
        replica = try await installation.startBroker("replica").ready()
    }

    /// As an ordinary identity provider makes it.
    func freshToken(of app: String = "app-one") throws -> IDToken {
        var token = logins.login().token
        token.claims["aud"] = .string(app)
        token.claims["di_hash"] = nil
        token.claims["ds_hash"] = nil
        token.claims["nonce"] = .string("n-0S6_WzA2Mj")
        token.claims["at_hash"] = .string(IDToken.leftHalfHash("idp-access"))
        return token
    }

    /// The identity provider's answer to a code.
    func answer(_ token: IDToken, scope: String = "openid profile") throws -> String {
        """
        {"access_token":"idp-access","token_type":"bearer","expires_in":3600,"refresh_token":"idp-refresh",\
        "scope":"\(scope)","id_token":"\(try token.signed())"}
        """
    }

    func gives(_ token: IDToken, scope: String = "openid profile") throws {
        let body = try answer(token, scope: scope)
        provider.token { _ in .answers(200, body) }
    }

    /// A code request of the app, with a code of its own.
    func code(_ profile: NativeProfile?, of app: String = "app-one") -> TokenForm {
        var form = TokenForm([
            "grant_type": "authorization_code", "client_id": app, "code": Unguessable.make(),
            "redirect_uri": "https://app.example/cb", "code_verifier": Unguessable.make(),
        ])
        switch profile {
        case .deviceID: form["device_id"] = Self.device
        case .deviceSecret, .transitional: form["scope"] = "openid device_sso"
        case nil: break
        }
        return form
    }

    /// Why it was refused, as the audit has it.
    func reason(_ answer: HTTPAnswer) async throws -> String {
        try await installation.session().auditedReason(of: answer.requestID)
    }
}
