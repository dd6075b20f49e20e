import BrokerTesting
import Foundation
import PrivateCluster
import StrictCoding
import BrokerHarness

/// The test server of the attacks: two issuers, apps of every kind, and one database with a plain and a TLS broker.
final class Fixture: Sendable {
    static let broker = "https://sso.example.test"
    /// The app that logged in.
    static let source = "app-one"
    /// The app that uses the login.
    static let target = "app-two"
    static let targetOnly = "app-three"
    static let sourceOnly = "app-four"
    /// May have `openid profile` at most.
    static let narrow = "app-narrow"
    static let scopeless = "app-scopeless"
    /// Requires `urn:example:loa2` and a login of the last hour.
    static let strict = "app-strict"
    static let disabled = "app-disabled"
    static let refreshOnly = "app-refresh-only"
    static let exchangeOnly = "app-exchange-only"
    static let confidential = "app-confidential"
    /// Confidential, and its secrets change.
    static let rotating = "app-rotating"
    /// Confidential, but without a secret.
    static let unarmed = "app-unarmed"
    /// Signs assertions.
    static let signer = "app-signer"
    static let otherSigner = "app-other-signer"
    /// Sends a DPoP proof with each request.
    static let bound = "app-bound"
    static let otherBound = "app-other-bound"
    /// Receives logins at ``webOrigin``. Confidential, like the web app that has another origin.
    static let web = "web-app"
    static let otherWeb = "other-web-app"
    static let webOrigin = "https://web.example.test"
    /// A web app of the other group, with an origin of its own.
    static let partnerWeb = "partner-web-app"
    static let partnerOrigin = "https://partner.example.test"
    /// In another group of the same issuer.
    static let partner = "partner-app"
    /// In no group.
    static let loner = "lonely-app"
    static let atOtherIssuer = "other-one"

    private static let starting = Task { try await Fixture() }
    /// Started on first use, for all tests of the process.
    static var shared: Fixture { get async throws { try await starting.value } }

    let keys: FixtureKeys
    /// Gets a request only if the broker follows an address in a token.
    let trap: StubIdentityProvider
    let running: Broker
    /// A second broker on the same database, over TLS.
    let secured: Broker
    /// The broker whose backchannel listener is in clear.
    let behind: Broker
    /// Leads to ``secured`` over HTTP/1.1.
    let tunnel: TLSTunnel
    /// Leads to ``secured`` over HTTP/2.
    let tunnelOfFrames: TLSTunnel
    /// The port of ``behind`` for revocation and introspection (plain), and the way to that of ``secured`` over HTTP/2.
    let backchannel: (port: UInt16, frames: TLSTunnel)
    let installation: Installation
    let sql: SQLSession
    /// The secret of ``confidential``.
    let secret: String
    /// Those of ``web`` and ``otherWeb``.
    let webSecrets: [String: String]
    let logins: LoginFactory
    let otherLogins: LoginFactory
    private let provider: StubIdentityProvider
    private let otherProvider: StubIdentityProvider

    var issuer: String { provider.issuer }
    var otherIssuer: String { otherProvider.issuer }
    var now: Int64 { Int64(time(nil)) }

    private init() async throws {
        keys = try FixtureKeys()
        provider = try StubIdentityProvider(keys: [keys.es256])
        otherProvider = try StubIdentityProvider(keys: [keys.otherIssuer])
        trap = try StubIdentityProvider(keys: [keys.attacker])
        provider.jwks(.says(try keys.document(withRetired: true)))
        logins = LoginFactory(issuer: provider.issuer, key: keys.es256, source: Self.source, target: Self.target)
        otherLogins = LoginFactory(
            issuer: otherProvider.issuer, key: keys.otherIssuer, source: Self.atOtherIssuer, target: Self.target)
        var configuration = BrokerConfiguration(
            issuer: Self.broker,
            providers: [
                Self.provider(provider.issuer),
                BrokerConfiguration.Provider(
                    otherProvider.issuer, profiles: ["device-id"], algorithms: ["ES256"], admitsOnFirstSight: false),
            ])
        // Dozens of attacks fail client authentication on purpose.
        configuration.limits["client_failures"] = "off"
        installation = try await Installation(configuration, on: try await PrivateCluster.shared)
        sql = try installation.session()
        for statement in Self.registry(issuer: provider.issuer, other: otherProvider.issuer) {
            try await sql.rows(statement)
        }
        secret = try await installation.rotateSecret(of: Self.confidential)
        webSecrets = [
            Self.web: try await installation.rotateSecret(of: Self.web),
            Self.otherWeb: try await installation.rotateSecret(of: Self.otherWeb),
        ]
        try await installation.addKey(keys.signer, of: Self.signer)
        try await installation.addKey(keys.otherSigner, of: Self.otherSigner)
        let ports = try (LoopbackPort.free(), LoopbackPort.free())
        running = try installation.startBroker()
        behind = try installation.startBroker("behind", environment: Self.backchannel(at: ports.0))
        let certificate = try TestCertificate.current()
        let files = try installation.write(certificate)
        secured = try installation.startBroker(
            "secured", environment: Self.backchannel(at: ports.1, tls: files)
        ) { $0.tls = files }
        tunnel = try await TLSTunnel(to: secured.publicPort, trusting: certificate.certificate)
        tunnelOfFrames = try await TLSTunnel(
            to: secured.publicPort, trusting: certificate.certificate, speaking: "h2")
        backchannel = (
            ports.0, try await TLSTunnel(to: ports.1, trusting: certificate.certificate, speaking: "h2")
        )
        for broker in brokers { try await broker.untilReady() }
    }

    /// The issuer publishes a key no more, and an operator revokes another one.
    func giveUpKeys() async throws {
        provider.jwks(.says(try keys.document(withRetired: false)))
        try await installation.command(
            "idp-key", "revoke", "revoked", "--issuer", provider.issuer, "--execute", "--reason", "stolen")
    }

    /// The other issuer refuses codes.
    func answerCodes(with error: String) {
        otherProvider.token { _ in .answers(400, #"{"error":"\#(error)"}"#) }
    }

    var brokers: [Broker] { [running, secured, behind] }

    /// The ports of ``running`` (plain) and of the tunnel to ``secured`` (TLS).
    var ports: [UInt16] { [running.publicPort, tunnel.port] }

    private static func provider(_ issuer: String) -> BrokerConfiguration.Provider {
        var provider = BrokerConfiguration.Provider(issuer)
        provider.events = ["security_events: {}", "global_token_revocation: {}"]
        return provider
    }

    static func backchannel(
        at port: UInt16, tls: (certificate: String, key: String)? = nil
    ) -> [String: String] {
        let settings = [
            "LISTEN": "127.0.0.1:\(port)", "REVOKE": "true", "INTROSPECT": "true", "SECURITY_EVENTS": "true",
            "GLOBAL_TOKEN_REVOCATION": "true", "TLS_CERTIFICATE": tls?.certificate, "TLS_KEY": tls?.key,
        ].compactMapValues(\.self)
        return Dictionary(uniqueKeysWithValues: settings.map { ("NATIVE_SSO_BACKCHANNEL_" + $0, $1) })
    }

    private static func registry(issuer: String, other: String) -> [String] {
        let usual = ["openid", "profile", "orders.read", "orders.write", "payments"]
        func member(_ id: String, role: String = "both", _ change: (inout ClientRow) -> Void = { _ in }) -> ClientRow {
            ClientRow(id, membership: .init(group: "vendor", issuer: issuer, role: role)) {
                $0.allowedScope = usual
                $0.defaultScope = ["openid", "profile"]
                change(&$0)
            }
        }
        let clients =
            [
                member(source), member(target) { $0.membership?.handoff = "bearer" },
                member(targetOnly, role: "target"), member(sourceOnly, role: "source"),
                member(narrow) { $0.membership?.ceiling = ["openid", "profile"] },
                member(scopeless) { $0.defaultScope = [] },
                member(strict) {
                    $0.acceptedACR = ["urn:example:loa2"]
                    $0.maximumAuthenticationSeconds = 3600
                },
                member(disabled) { $0.isEnabled = false },
                member(refreshOnly) { $0.grants = ["refresh_token"] },
                member(exchangeOnly) { $0.grants = ["urn:ietf:params:oauth:grant-type:token-exchange"] },
                member(confidential) { $0.authentication = "client_secret_basic" },
                member(rotating) { $0.authentication = "client_secret_basic" },
                member(unarmed) { $0.authentication = "client_secret_basic" },
                member(signer) { $0.authentication = "private_key_jwt" },
                member(otherSigner) { $0.authentication = "private_key_jwt" },
                member(bound) {
                    $0.dpop = "required"
                    $0.membership?.handoff = "bearer"
                },
                member(web, role: "target") {
                    $0.authentication = "client_secret_basic"
                    $0.membership?.handoffOrigins = [webOrigin]
                },
                member(otherWeb, role: "target") {
                    $0.authentication = "client_secret_basic"
                    $0.membership?.handoffOrigins = ["https://other.example.test"]
                },
                member(otherBound) { $0.dpop = "optional" },
                ClientRow(partner, membership: .init(group: "partner", issuer: issuer)) {
                    $0.allowedScope = usual
                    $0.defaultScope = ["openid"]
                },
                ClientRow(partnerWeb, membership: .init(group: "partner", issuer: issuer, role: "target")) {
                    $0.allowedScope = usual
                    $0.authentication = "client_secret_basic"
                    $0.membership?.handoffOrigins = [partnerOrigin]
                },
                ClientRow(loner) {
                    $0.allowedScope = usual
                    $0.defaultScope = ["openid"]
                },
                ClientRow(atOtherIssuer, membership: .init(group: "other", issuer: other)) { $0.allowedScope = usual },
            ] + (1...2).map { index in member("sibling-\(index)", role: "target") }
        return ["INSERT INTO native_sso.scope VALUES ('payments', true), ('openid', false)"] + clients.flatMap(\.sql)
            // The other issuer's group also knows the target.
            + [
                """
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                VALUES ('other', '\(other)', '\(target)', 'both')
                """
            ]
    }
}
