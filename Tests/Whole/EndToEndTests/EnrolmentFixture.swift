import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Two brokers on one database whose identity provider gives id_tokens without any device hash, and tokens for codes.
final class EnrolmentFixture: Sendable {
    private static let starting = Task { try await EnrolmentFixture() }
    /// Started on first use.
    static var shared: EnrolmentFixture { get async throws { try await starting.value } }
    static let device = Unguessable.make()
    /// Codes at the identity provider at one time.
    static let slots = 4

    let provider: StubIdentityProvider
    /// A second identity provider, with enrolment too.
    let otherProvider: StubIdentityProvider
    let installation: Installation
    let broker: Broker
    let replica: Broker
    private let logins: LoginFactory

    private init() async throws {
        let key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        // The same `kid` as the first one's key.
        otherProvider = try StubIdentityProvider(keys: [try TestKey(.es256, keyID: "idp")])
        var configuration = BrokerConfiguration(
            issuer: "https://sso.example.test",
            providers: [provider, otherProvider].map { provider in
                var configured = BrokerConfiguration.Provider(provider.issuer, admitsOnFirstSight: false)
                configured.enrolsByExchange = true
                return configured
            })
        configuration.providers[0].codeRelay = "{ timeout: 5s, at_once: \(Self.slots) }"
        configuration.limits["device_failures"] = "1000000/1s"
        installation = try await Installation(configuration, on: try await PrivateCluster.shared)
        let sql = try installation.session()
        let issuer = provider.issuer
        for (app, role, dpop) in [
            ("app-one", "both", "off"), ("app-two", "both", "off"), ("app-bound", "both", "required"),
            ("app-bound-two", "both", "required"), ("app-target", "target", "off"), ("app-outside", nil, "off"),
        ] as [(String, String?, String)] {
            let membership = role.map { ClientRow.Membership(group: "vendor", issuer: issuer, role: $0) }
            try await sql.register(app, in: membership) { $0.dpop = dpop }
        }
        try await sql.register("app-strict", in: .init(group: "vendor", issuer: issuer, role: "target")) {
            $0.allowedScope = ["openid"]
            $0.acceptedACR = ["urn:example:loa2"]
        }
        logins = LoginFactory(issuer: provider.issuer, key: key, source: "app-one", target: "app-two")
        broker = try await installation.startBroker().ready()
        replica = try await installation.startBroker("replica").ready()
    }

    /// An id_token as an ordinary identity provider issues it.
    func freshToken(of client: String = "app-one") throws -> IDToken {
        var token = logins.ordinaryToken(of: client)
        token.claims["nonce"] = .string("n-0S6_WzA2Mj")
        token.claims["at_hash"] = .string(IDToken.leftHalfHash("idp-access"))
        return token
    }

    /// The identity provider's answer to a code.
    func answer(_ token: IDToken) throws -> String {
        """
        {"access_token":"idp-access","token_type":"bearer","expires_in":3600,"refresh_token":"idp-refresh",\
        "scope":"openid profile","id_token":"\(try token.signed())"}
        """
    }

    func gives(_ token: IDToken) throws {
        let body = try answer(token)
        provider.token { _ in .answers(200, body) }
    }

    /// A code request of the app, with a code of its own.
    func code(_ profile: NativeProfile?, of app: String = "app-one") -> TokenForm {
        .code(device: Self.device, profile: profile, client: app)
    }

    /// Why a request was refused, as the audit has it.
    func reason(_ answer: HTTPAnswer) async throws -> String {
        try await installation.session().auditedReason(of: answer.requestID)
    }

    /// What is wrong with the identity provider's answer, as the log has it.
    func fault(_ answer: HTTPAnswer) async throws -> String? {
        let line = try await eventually("the request is in the log") { () -> JSONObject? in
            let lines = try broker.logLines(with: answer.requestID)
            return lines.compactMap { try? JSONReader.parse(Array($0.utf8)).object }.first
        }
        return line.string("fault")
    }

    func enrolment(
        _ token: IDToken, _ profile: NativeProfile, client: String = "app-one", device: String = EnrolmentFixture.device
    ) throws -> TokenForm {
        .enrolment(
            try token.signed(), issuer: provider.issuer, device: device, profile: profile, client: client)
    }

    /// The `sid` that an enrolment gave.
    func sid(_ answer: HTTPAnswer) throws -> String {
        let idToken = try #require(answer.idToken, "\(answer.text)")
        return try #require(try UnverifiedToken.claims(of: idToken).string("sid"))
    }

    /// Sessions of the user of `token`.
    func sessions(of token: IDToken, _ sql: SQLSession) async throws -> Int {
        let subject = try #require(token.claims.string("sub"))
        return try #require(
            Int(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(subject)'")))
    }
}
