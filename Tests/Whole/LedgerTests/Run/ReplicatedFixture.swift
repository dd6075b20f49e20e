import BrokerHarness
import BrokerTesting
import PrivateCluster

/// Apps on a replicated database; brokers are started as needed.
struct ReplicatedFixture: Sendable {
    let pair: ReplicatedPair
    let apps: AppFixture

    init(migratedBy previous: String? = nil) async throws {
        let pair = try await ReplicatedPair.start()
        self.pair = pair
        apps = try await AppFixture(primary: { await pair.primary }) {
            try await Installation($0, on: pair, migratedBy: previous)
        }
    }

    var installation: Installation { apps.installation }

    func logins() -> LoginFactory { apps.logins() }

    func startBroker() async throws -> Broker { try await apps.startBroker() }

    func finalState(of entries: [LedgerEntry]) async throws -> FinalState { try await apps.finalState(of: entries) }
}
