import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// Few of the interleavings that `deploy/bench races` runs.
@Suite(.timeLimit(.minutes(5))) struct RacesTests {
    @Test func theFunctionsKeepThePropertiesOfARace() async throws {
        let figure = try await race("--interleavings", "300")
        #expect(figure.string("fault") == "none" && figure.number("interleavings")?.int64 == 300)
        #expect(figure.number("violations")?.int64 == 0)
        // Calls meet, and most of them get through.
        let waits = figure.number("lock_waits")?.int64 ?? 0
        let failures = figure.number("undone_transactions")?.int64 ?? .max
        #expect(waits > 300 && failures < 150, "\(waits) waits, \(failures) undone transactions")
    }

    /// Fails unless it is found.
    @Test(arguments: ["exchange-without-share", "refresh-without-session-version"])
    func aPlantedFaultIsFound(_ mutant: String) async throws {
        let figure = try await race("--interleavings", "2000", "--mutant", mutant)
        #expect(figure.string("fault") == mutant && figure.number("violations")?.int64 == 1)
    }

    @Test func aTextThatIsNotThereOnceIsNoMutant() throws {
        let edit = RaceMutant.Edit(function: "f", text: "FOR SHARE", replacement: "")
        #expect(try edit.apply(to: "SELECT FOR SHARE;") == "SELECT ;")
        for definition in ["SELECT", "FOR SHARE FOR SHARE"] {
            #expect(throws: ManagedProcess.Failure.self) { try edit.apply(to: definition) }
        }
    }

    @Test func theSameSeedChoosesTheSameRace() {
        func calls(_ number: Int, seed: UInt64) -> String {
            "\(RaceWorld(number: number, seed: seed).actors.map(\.transactions))"
        }
        #expect((0..<20).map { calls($0, seed: 1) } == (0..<20).map { calls($0, seed: 1) })
        #expect((0..<20).map { calls($0, seed: 1) } != (0..<20).map { calls($0, seed: 2) })
    }

    private func race(_ arguments: String...) async throws -> JSONObject {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["races"] + arguments)
        try #require(result.status == 0, "\(result.errors.suffix(8000))")
        let report = try #require(try JSONReader.parse(Array(result.output.utf8)).object)
        return try #require(report.object("races")?.array("figures")?.first?.object)
    }
}
