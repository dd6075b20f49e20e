import JOSE
import PrivateCluster
import Testing

@testable import native_sso_bench

@Suite(.timeLimit(.minutes(5))) struct DatabaseTests {
    @Test func aLineOfPgbenchIsRead() {
        let progress = PgBench.Progress("progress: 2.0 s, 10436.8 tps, lat 6.129 ms stddev 2.064, 0 failed")
        #expect(progress?.seconds == 2)
        #expect(progress?.perSecond == 10_436.8)
        #expect(PgBench.Progress("pgbench (15.18)") == nil)
        #expect(PgBench.Progress("progress: x s, 1 tps, lat") == nil)
    }

    @Test func rowsHaveTheSameNamesHereAndInSQL() async throws {
        let cluster = try await PrivateCluster.shared
        let row = PopulationRow(12_345)
        let n = "12345"
        let text = try await cluster.psql(
            """
            SELECT encode(\(Population.sidDigest(sql: n)), 'hex'), \(Population.subject(sql: n)), encode(\(Population.deviceDigest(sql: n)), 'hex'),
                replace(\(Population.grantID(sql: n))::text, '-', '');
            """)
        func hexadecimal(_ octets: [UInt8]) -> String {
            octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        #expect(
            text.split(whereSeparator: \.isNewline) == [
                "\(hexadecimal(row.sidDigest))|\(row.login.subject)|\(hexadecimal(row.deviceDigest))|\(hexadecimal(row.grantID))"[
                    ...]
            ])
    }

    @Test func blocksOfCallersDoNotMeet() {
        let blocks = [PopulationBlock(first: 0, callers: 3), PopulationBlock(first: 480, callers: 3)]
        #expect(blocks[0].range == 0..<480)
        #expect(blocks[1].range.lowerBound == blocks[0].range.upperBound)
        #expect(blocks[1].firstRow(ofCaller: 2) == 480 + 320)
    }

    /// Every step reaches every session once, wherever it begins.
    @Test(arguments: [(100_000, 61_803), (1_000_000, 618_033), (10_000, 6_181), (12, 6)])
    func aSampleMeetsNoSessionTwice(_ sessions: Int, _ step: Int) {
        let coprime = ScaleRun.coprime(step, to: sessions)
        #expect(Set((0..<min(sessions, 20_000)).map { $0 * coprime % sessions }).count == min(sessions, 20_000))
    }

    @Test(arguments: ["ES256:RS256", "RS256:RS256"]) func algorithmsAreAPair(_ text: String) throws {
        let algorithms = try #require(Algorithms(argument: text))
        #expect("\(algorithms.provider.rawValue):\(algorithms.broker.rawValue)" == text)
    }

    @Test(arguments: ["ES256", "ES256:", "ES256:none", "ES256:RS256:ES256", ""])
    func whatIsNoPairIsRefused(_ text: String) { #expect(Algorithms(argument: text) == nil) }
}
