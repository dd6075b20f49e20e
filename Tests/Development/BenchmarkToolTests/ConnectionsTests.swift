import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// Idle and hostile connections, few of them.
@Suite(.timeLimit(.minutes(5))) struct ConnectionsTests {
    @Test func connectionsComeFromManyAddresses() {
        let indices = stride(from: 0, to: 200_000, by: Peer.connectionsPerAddress)
        let sources = indices.map(Peer.source)
        #expect(Set(sources).count == sources.count)
        #expect(Peer.source(of: 0) == Peer.source(of: Peer.connectionsPerAddress - 1))
        #expect(!sources.contains("127.0.0.1") && sources.allSatisfy { $0.hasPrefix("127.") })
    }

    @Test func idleConnectionsAreHeldAndAttackersAreShed() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"),
            [
                "connections", "--rounds", "1", "--idle", "100", "--attackers", "20", "--attack-seconds", "6",
                "--rate", "20",
            ])
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("connections")?.array("figures") ?? []).compactMap(\.object)
        let states = ["none", "silent", "after_request", "gone", "no_attacker", "20_attackers"]
        #expect(
            figures.map { "\($0.string("transport") ?? "") \($0.string("connections") ?? "")" }
                == ["plain", "tls"].flatMap { transport in states.map { "\(transport) \($0)" } })
        for figure in figures {
            #expect((figure.number("wrong_answers")?.int64 ?? 0) == 0 && figure.object("resident_kib") != nil)
        }
        for figure in figures where ["silent", "after_request"].contains(figure.string("connections")) {
            #expect(figure.object("open_connections")?.number("median")?.text == "100.000")
            #expect(figure.object("kib_each") != nil)
        }
        // The patience with a header and with a handshake is 5 s.
        for figure in figures where figure.string("connections") == "20_attackers" {
            #expect(figure.object("latency_p99_to_alone") != nil)
            #expect((figure.number("shed_slow_header")?.int64 ?? 0) > 0)
            if figure.string("transport") == "tls" {
                for attack in ["shed_silent", "shed_unfinished_handshake"] {
                    #expect((figure.number(attack)?.int64 ?? 0) > 0)
                }
            }
        }
    }
}
