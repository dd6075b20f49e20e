package import BrokerTesting
import JOSE
package import PrivateCluster

extension Installation {
    /// Two apps that share the logins of one identity provider, on a database of their own.
    package static func ofTwoApps(
        _ provider: BrokerConfiguration.Provider, _ key: TestKey, on cluster: PrivateCluster
    ) async throws -> (Installation, LoginFactory) {
        let installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: [provider]), on: cluster)
        let sql = try installation.session()
        for app in ["app-one", "app-two"] {
            try await sql.register(app, in: .init(group: "vendor", issuer: provider.issuer))
        }
        return (installation, LoginFactory(issuer: provider.issuer, key: key, source: "app-one", target: "app-two"))
    }

    /// The same with enrolment.
    package static func ofTwoApps(
        _ issuer: String, _ key: TestKey, on cluster: PrivateCluster
    ) async throws -> (Installation, LoginFactory) {
        var provider = BrokerConfiguration.Provider(issuer)
        provider.enrolsByExchange = true
        return try await ofTwoApps(provider, key, on: cluster)
    }

    /// The same in the shared cluster. The identity provider's keys are in a file, so that the broker never asks it.
    package static func ofTwoApps() async throws -> (Installation, LoginFactory) {
        let key = try TestKey(.es256, keyID: "idp")
        var provider = BrokerConfiguration.Provider("https://idp.example.test", keys: .file([key]))
        provider.enrolsByExchange = true
        return try await ofTwoApps(provider, key, on: try await PrivateCluster.shared)
    }
}
