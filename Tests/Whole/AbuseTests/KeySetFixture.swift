import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness

/// A broker that knows one sound identity provider and many unsound ones. It is never ready.
final class KeySetFixture: Sendable {
    enum Misbehaviour: CaseIterable {
        case refusesConnections, hangs, failsInside, page, emptyObject, noKeys, redirects, ambiguousKeys, noUsableKey
        case discoveryOfAnother, discoveryElsewhere
    }

    private static let starting = Task { try await KeySetFixture() }
    /// Started on first use.
    static var shared: KeySetFixture { get async throws { try await starting.value } }

    let broker: Broker
    let sound: LoginFactory
    let soundProvider: StubIdentityProvider
    let unsound: [Misbehaviour: LoginFactory]
    let withoutAlgorithm: LoginFactory
    let disabled: LoginFactory
    /// What leads to the trap.
    let redirecting: StubIdentityProvider
    let trap: StubIdentityProvider
    private let providers: [StubIdentityProvider]
    let installation: Installation

    private init() async throws {
        let key = try TestKey(.es256, keyID: "key")
        let rsa = try TestKey.shared(.rs256).renamed("rsa")
        func logins(_ provider: StubIdentityProvider, _ key: TestKey) -> LoginFactory {
            LoginFactory(issuer: provider.issuer, key: key, source: "one", target: "two")
        }
        trap = try StubIdentityProvider(keys: [key])
        soundProvider = try StubIdentityProvider(keys: [key])
        sound = logins(soundProvider, key)
        let other = try StubIdentityProvider(keys: [rsa])
        other.jwks(.says(try Self.document([rsa]) { $0["alg"] = nil }))
        withoutAlgorithm = logins(other, rsa)
        let off = try StubIdentityProvider(keys: [key])
        disabled = logins(off, key)
        redirecting = try StubIdentityProvider(keys: [key])
        var unsound: [Misbehaviour: LoginFactory] = [:]
        var providers = [soundProvider, other, off]
        for kind in Misbehaviour.allCases {
            let provider = kind == .redirects ? redirecting : try StubIdentityProvider(keys: [key])
            try Self.spoil(provider, kind, key, trap: trap)
            unsound[kind] = logins(provider, key)
            providers.append(provider)
        }
        self.unsound = unsound
        self.providers = providers
        let configuration = BrokerConfiguration(
            issuer: "https://sso.example.test",
            providers: providers.map {
                BrokerConfiguration.Provider(
                    $0.issuer, algorithms: ["ES256", "RS256"], isDisabled: $0.issuer == off.issuer)
            })
        installation = try await Installation(configuration, on: try await PrivateCluster.shared)
        let sql = try installation.session()
        for client in ["one", "two"] { try await sql.register(client, in: nil) }
        for (index, provider) in providers.enumerated() {
            try await sql.rows("INSERT INTO native_sso.sharing_group VALUES ('group-\(index)', '\(provider.issuer)')")
            try await sql.rows(
                """
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                SELECT 'group-\(index)', '\(provider.issuer)', client_id, 'both' FROM native_sso.client
                """)
        }
        broker = try installation.startBroker()
        try await broker.untilAlive()
        _ = try await eventually("the sound provider's keys are known") { [broker, sound] in
            try await broker.token(try sound.exchange(sound.login())).status == 200 ? true : nil
        }
    }

    private static func spoil(
        _ provider: StubIdentityProvider, _ kind: Misbehaviour, _ key: TestKey, trap: StubIdentityProvider
    ) throws {
        switch kind {
        case .refusesConnections: provider.stop()
        case .hangs: provider.jwks(.hangs)
        case .failsInside: provider.jwks(.status(500))
        case .page: provider.jwks(.says(Array("<html></html>".utf8)))
        case .emptyObject: provider.jwks(.says(Array("{}".utf8)))
        case .noKeys: provider.jwks(.says(Array(#"{"keys":{}}"#.utf8)))
        case .redirects: provider.jwks(.redirects(to: trap.issuer + "/jwks"))
        case .ambiguousKeys: provider.jwks(.says(try document([key, try TestKey(.es256, keyID: "key")])))
        case .noUsableKey: provider.jwks(.says(try document([key]) { $0["use"] = .string("enc") }))
        case .discoveryOfAnother: provider.discovery(.says(discovery(issuer: trap.issuer, keys: provider.issuer)))
        case .discoveryElsewhere:
            provider.discovery(.says(discovery(issuer: provider.issuer, keys: "http://127.0.0.2:\(trap.port)")))
        }
    }

    private static func document(
        _ keys: [TestKey], _ change: (inout JSONObject) -> Void = { _ in }
    ) throws -> [UInt8] {
        let entries = keys.map { key in
            var entry = key.publicKey.json
            change(&entry)
            return JSONValue.object(entry)
        }
        return JSONObject(["keys": .array(entries)]).octets
    }

    private static func discovery(issuer: String, keys: String) -> [UInt8] {
        JSONObject(["issuer": .string(issuer), "jwks_uri": .string(keys + "/jwks")]).octets
    }
}
