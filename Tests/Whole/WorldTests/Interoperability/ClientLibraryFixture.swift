import AsyncHTTPClient
import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import NIOSSL
import NativeSSOAsyncHTTPClient
import NativeSSOClient
import OAuthWire
import PrivateCluster
import StrictCoding
import Testing

/// A broker behind nginx, as its issuer says, with clients of each kind: a public app, two that sign assertions, and an API
/// that introspects.
final class ClientLibraryFixture: Sendable {
    private static let starting = Task { try await ClientLibraryFixture() }
    /// Started on first use.
    static var shared: ClientLibraryFixture { get async throws { try await starting.value } }

    private let installation: Installation
    private let broker: Broker
    private let proxy: Proxy
    /// Of the apps in Swift: it trusts the proxy's certificate. Like this fixture it is never shut down.
    private let http: HTTPClient
    private let logins: LoginFactory
    private let apiSecret: String
    private let backchannelURL: String
    private let audience = "https://api.example.test"

    private init() async throws {
        let key = try TestKey(.es256, keyID: "idp")
        var provider = BrokerConfiguration.Provider("https://idp.example.test", keys: .file([key]))
        provider.enrolsByExchange = true
        let (port, backchannel) = (try LoopbackPort.free(), try LoopbackPort.free())
        backchannelURL = "https://127.0.0.1:\(backchannel)"
        installation = try await Installation(
            BrokerConfiguration(issuer: "https://127.0.0.1:\(port)", providers: [provider]),
            on: try await PrivateCluster.shared)
        logins = LoginFactory(issuer: provider.issuer, key: key, source: "app-one", target: "app-two")

        let signer = installation.directory.appending(path: "signer")
        _ = try await Self.run("make_key", signer.path)
        try await installation.command("group", "add", "vendor", "--issuer", provider.issuer)
        let keyed = ["--authentication", "private_key_jwt"]
        for (client, options) in [
            ("app-one", []), ("app-two", []), ("app-three", []), ("strict", keyed),
            ("signer", keyed + ["--assertion-audience", "token_endpoint", "--assertion-lifetime", "1h"]),
        ] {
            try await installation.command(
                [
                    "client", "add", client, "--audience", audience, "--allowed-scope", "openid profile",
                    "--default-scope", "openid",
                ] + options)
            try await installation.command("group", "member", "add", "vendor", client, "--role", "both")
            if !options.isEmpty {
                try await installation.command("client", "key", "add", client, "--file", "\(signer.path).jwk")
            }
        }
        try await installation.command(
            "client", "add", "api", "--authentication", "client_secret_basic", "--audience", audience, "--introspects",
            audience)
        apiSecret = try await installation.rotateSecret(of: "api")

        let certificate = try TestCertificate.current()
        let files = try installation.write(certificate)
        broker = try installation.startBroker(
            "behind-nginx",
            environment: [
                "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(backchannel)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
                "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true",
                "NATIVE_SSO_BACKCHANNEL_URL": backchannelURL,
                "NATIVE_SSO_BACKCHANNEL_TLS_CERTIFICATE": files.certificate,
                "NATIVE_SSO_BACKCHANNEL_TLS_KEY": files.key,
            ]
        ) { $0.trustedProxies = ["127.0.0.1"] }
        try await broker.untilReady()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(files.certificate)
        http = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow))
        proxy = try await Proxy(
            .nginx, brokers: (broker.publicPort, broker.publicPort), internalPort: broker.internalPort, port: port,
            certificate: certificate)
    }

    /// Lets a program of the tests go through everything with six logins.
    func run(_ script: String) async throws { _ = try await Self.run(script, try await values(script).path) }

    func run(_ language: ForeignLanguage) async throws {
        try await language.run(
            try await values(language.rawValue).path, ca: installation.directory.appending(path: "tls.pem").path,
            in: installation.directory)
    }

    /// A file with what a program needs.
    private func values(_ name: String) async throws -> URL {
        let login = logins.login()
        var form = try logins.exchange(login)
        form["scope"] = "openid profile"
        let accessToken = try await broker.token(form).accessToken
        let enrolled = try await broker.token(
            .enrolment(
                try login.token.signed(), issuer: logins.issuer, device: login.device, profile: .deviceID,
                client: "app-one"))
        let fresh = try (0..<6).map { _ in
            let login = logins.login()
            return #"{"id_token": "\#(try login.token.signed())", "device": "\#(login.device)"}"#
        }
        let values = """
            {"issuer": "\(installation.configuration.issuer)", "idp": "\(logins.issuer)", "audience": "\(audience)",
             "ca": "\(installation.directory.appending(path: "tls.pem").path)", "api_secret": "\(apiSecret)",
             "signer_key": "\(installation.directory.appending(path: "signer.pem").path)",
             "subject": "\(login.token.claims.string("sub") ?? "")", "access_token": "\(accessToken ?? "")",
             "id_token": "\(enrolled.idToken ?? "")", "logins": [\(fresh.joined(separator: ", "))]}
            """
        let file = installation.directory.appending(path: "\(name).json")
        try Data(values.utf8).write(to: file)
        return file
    }

    /// Two apps of one device, built with the library, after a login that another app did.
    func apps() async throws -> (one: AppLogin, two: AppLogin, ofOne: InMemoryKeychain) {
        let login = logins.login()
        let shared = InMemoryKeychain()
        let device = try #require(DeviceIdentifier(login.device))
        try await SharedLogin(idToken: Credential(try login.token.signed()), device: .identifier(device)).save(
            to: shared)
        func app(_ clientID: String, _ own: InMemoryKeychain) -> AppLogin {
            var configuration = AppLogin.Configuration(
                broker: installation.configuration.issuer, provider: logins.issuer, clientID: clientID,
                redirectURI: "com.example.\(clientID):/callback")
            configuration.profile = .deviceID
            return AppLogin(configuration, shared: shared, own: own, transport: AsyncHTTPClientTransport(http))
        }
        let ofOne = InMemoryKeychain()
        return (app("app-two", ofOne), app("app-three", InMemoryKeychain()), ofOne)
    }

    func refresh(_ token: String, by client: String) async throws -> HTTPAnswer {
        try await broker.token(.refresh(token, client: client))
    }

    /// An API behind Apache's mod_auth_openidc, and two tokens: an access token of the API, and an id_token.
    func apache(_ kind: ApacheAPI.Kind) async throws -> (api: ApacheAPI, accessToken: String, idToken: String) {
        let values = try JSONReader.parse(Array(try Data(contentsOf: try await values("apache")))).object
        let api = try await ApacheAPI(
            kind, issuer: installation.configuration.issuer, introspection: backchannelURL + "/introspect",
            audience: audience,
            secret: apiSecret, ca: installation.directory.appending(path: "tls.pem"))
        return (api, values?.string("access_token") ?? "", values?.string("id_token") ?? "")
    }

    private static func run(_ script: String, _ argument: String) async throws -> String {
        try await ManagedProcess.output(
            of: try Software.interoperability.path("bin/python"),
            ["-B", Software.scripts.appending(path: "\(script).py").path, argument], name: script,
            within: .seconds(60))
    }
}
