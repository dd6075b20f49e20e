import BrokerTesting
import Foundation
import Glibc
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness

/// One broker on a server that logs every statement with its parameters, and writes every page whole.
final class DiskFixture: Sendable {
    /// How an app shows who it is.
    enum App: String, CaseIterable {
        /// It names itself.
        case plain = "app-plain"
        case withSecret = "app-with-secret"
        case signer = "app-signer"
        /// It names itself, and shows a key.
        case bound = "app-bound"

        /// Another one, for what an app may not do with its own.
        var other: App { self == .plain ? .withSecret : .plain }
    }

    /// Where the user logs in without the broker.
    static let source = "app-source"

    static let broker = "https://sso.example.test"
    static let profiles = [NativeProfile.deviceID, .deviceSecret]

    let cluster: PrivateCluster
    let provider: StubIdentityProvider
    let installation: Installation
    let running: Broker
    let sql: SQLSession
    let logins: LoginFactory
    /// Of ``App/withSecret``.
    let secret: String
    /// The broker's own at the identity provider.
    let providerSecret = Unguessable.make()
    let key: TestKey

    init() async throws {
        key = try TestKey(.es256, keyID: "idp")
        provider = try StubIdentityProvider(keys: [key])
        let secretFile = FileManager.default.temporaryDirectory.appending(path: "relay-\(Unguessable.make())")
        defer { try? FileManager.default.removeItem(at: secretFile) }
        try Data(providerSecret.utf8).write(to: secretFile)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secretFile.path)
        var configured = BrokerConfiguration.Provider(provider.issuer)
        configured.enrolsByExchange = true
        configured.codeRelay = "{ timeout: 2s, client_secret_file: \(secretFile.path) }"
        var options = ClusterOptions.testing
        options.settings = [
            "full_page_writes": "on", "wal_compression": "off", "log_statement": "all",
            "log_parameter_max_length": "-1",
            "log_parameter_max_length_on_error": "-1", "log_min_error_statement": "error",
        ]
        cluster = try await PrivateCluster.start(options: options)
        installation = try await Installation(
            BrokerConfiguration(issuer: Self.broker, providers: [configured]), on: cluster)
        sql = try installation.session()
        // What PostgreSQL compresses cannot be searched.
        try await sql.rows(
            """
            DO $$ DECLARE c record; BEGIN
                FOR c IN SELECT attrelid::regclass AS name, attname FROM pg_attribute JOIN pg_class t ON t.oid = attrelid
                    WHERE relnamespace = 'native_sso'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0
                        AND NOT attisdropped AND attstorage IN ('x', 'm')
                LOOP EXECUTE format('ALTER TABLE %s ALTER %I SET STORAGE EXTERNAL', c.name, c.attname); END LOOP;
            END $$
            """)
        for app in [Self.source] + App.allCases.map(\.rawValue) {
            try await sql.register(app, in: .init(group: "vendor", issuer: provider.issuer)) {
                $0.authentication =
                    switch App(rawValue: app) {
                    case .plain, .bound, nil: "none"
                    case .withSecret: "client_secret_basic"
                    case .signer: "private_key_jwt"
                    }
                $0.dpop = app == App.bound.rawValue ? "required" : "off"
            }
        }
        secret = try await installation.rotateSecret(of: App.withSecret.rawValue)
        try await installation.addKey(key, of: App.signer.rawValue)
        logins = LoginFactory(
            issuer: provider.issuer, key: key, source: Self.source, target: App.plain.rawValue)
        running = try await installation.startBroker().ready()
    }

    func freshToken(of app: App) -> IDToken { logins.ordinaryToken(of: app.rawValue) }

    /// The form as `app` sends it.
    /// - Parameters:
    ///   - secret: Instead of its own.
    ///   - assertion: Instead of a new one.
    ///   - proof: Instead of a new one.
    func request(
        _ form: TokenForm, by app: App, secret: String? = nil, assertion: String? = nil, proof: String? = nil
    ) throws -> HTTPRequest {
        var form = form
        form["client_id"] = app.rawValue
        switch app {
        case .plain: return HTTPRequest.token(form.parameters)
        case .withSecret: return form.withSecret(secret ?? self.secret, of: app.rawValue)
        case .signer: return HTTPRequest.token(form.asserted(try assertion ?? self.assertion()).parameters)
        case .bound: return HTTPRequest.token(form.parameters, fields: [("DPoP", try proof ?? self.proof())])
        }
    }

    func assertion() throws -> String {
        try Assertion(client: App.signer.rawValue, audience: Self.broker, key: key).signed()
    }

    /// A signature of this key over something else.
    func otherSignature() throws -> String { String(try assertion().split(separator: ".")[2]) }

    func proof() throws -> String {
        try TestProof(by: key, for: Self.broker + "/token", at: Int64(time(nil))).signed()
    }
}
