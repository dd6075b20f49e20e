import Foundation
import Testing

/// Runs the corpora, and a fixed number of inputs near them, as an ordinary test. A build for libFuzzer takes longer
/// than all tests together, so `deploy/fuzz` searches for new inputs.
@Suite struct ReplayTests {
    private static let mutations = 200

    @Test(.timeLimit(.minutes(3)), arguments: FuzzTarget.allCases)
    func everyPromiseHoldsInAndNearTheCorpus(_ target: FuzzTarget) throws {
        let seeds = try Corpus.seeds(of: target)
        var accepted = 0
        for seed in seeds {
            #expect(throws: Never.self, "\(seed.name)") { accepted += try target.check(seed.octets) ? 1 : 0 }
        }
        // Where nothing is accepted the promises are empty, and where everything is, too.
        #expect(accepted > 0 && accepted < seeds.count)
        // The same ones each time: they find what a change of the code breaks.
        var mutator = Mutator(seed: 1)
        let octetsOfSeeds = seeds.map(\.octets)
        for _ in 0..<Self.mutations {
            let octets = mutator.mutated(octetsOfSeeds)
            do {
                _ = try target.check(octets)
            } catch {
                Issue.record("\(error): \(String(decoding: octets, as: UTF8.self).debugDescription)")
                break
            }
        }
    }

    @Test func everyCorpusHasItsTarget() throws {
        #expect(try Set(Corpus.names()) == Set(FuzzTarget.allCases.map(\.rawValue)))
    }

    /// A check that finds nothing could as well be broken.
    @Test func aBrokenPromiseIsFound() {
        #expect(throws: Violation.self) { try hold(false, "broken") }
        #expect(throws: Never.self) { try hold(true, "kept") }
    }
}

/// The inputs that every run begins with: small, made by hand or from the vectors of the other tests.
enum Corpus {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "Fuzzing")

    static func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    static func seeds(of target: FuzzTarget) throws -> [(name: String, octets: [UInt8])] {
        try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: target.rawValue), includingPropertiesForKeys: nil
        )
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
        .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }
}
