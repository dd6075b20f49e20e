import BrokerTesting
import RegistryConformance
import NativeSSO
import PostgresClient
import Testing

/// Refusals with the same answer must not differ in cost. `deploy/bench timing` measures it; this test counts.
@Suite("The cost of a refused exchange")
struct AlikeRefusalTests {
    enum Kind: CaseIterable {
        case unknownSession, wrongDevice, foreignGroup
    }

    @Test("Every refusal looks the session up once", arguments: Kind.allCases)
    func looksOnce(_ kind: Kind) async throws {
        try await TestDatabase.withWorld { database, world in
            let outsider = ClientID(validated: "app-of-others")
            try await database.put(client: outsider, isEnabled: true)
            try await database.put(
                MemberRow(
                    issuer: Issuer(validated: "https://idp.example.com"), client: outsider,
                    membership: Membership(group: GroupID(validated: "others"), role: .both)))
            for _ in 0..<Self.calls {
                let admission =
                    switch kind {
                    case .unknownSession: try world.admission(sid: "nobody's", client: world.client)
                    case .wrongDevice:
                        try world.admission(sid: "sid-1", client: world.client, isPermitted: false)
                    case .foreignGroup: try world.admission(sid: "sid-1", client: outsider)
                    }
                #expect(try await database.registry.admit(admission).grant == nil)
            }
            try await database.endService()
            #expect(try await database.run(Self.looks, [])[0].int64(0) == Int64(Self.calls))
        }
    }

    private static let calls: UInt64 = 10

    private static let looks = Statement(
        "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'session_name'")
}
