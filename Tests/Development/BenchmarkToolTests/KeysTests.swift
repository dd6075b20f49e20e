import BrokerHarness
import Foundation
import StrictCoding
import Testing

/// What keys cost, in a moment too short for a figure.
@Suite(.timeLimit(.minutes(5))) struct KeysTests {
    @Test func everyProviderIsMeasuredBesideItsReference() async throws {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"),
            ["keys", "--rounds", "1", "--seconds", "0.2", "--rotations", "0", "--connections", "4"],
            within: .seconds(240))
        try #require(result.status == 0, "\(result.errors.suffix(4000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        let figures = (report.object("signatures")?.array("figures") ?? []).compactMap(\.object)
        var expected = ["file ES256", "file RS256", "file PS256", "file ES384", "file EdDSA"]
        if FileManager.default.fileExists(atPath: "/usr/lib/softhsm/libsofthsm2.so") {
            expected += ["pkcs11 ES256", "pkcs11 ES384", "pkcs11 RS256", "pkcs11 PS256"]
        }
        #expect(figures.map { "\($0.string("provider") ?? "") \($0.string("algorithm") ?? "")" } == expected)
        for figure in figures {
            let ratio = figure.object("throughput_to_reference")?.number("median").flatMap { Double($0.text) } ?? 0
            // A debug build is slower than its reference. Far from it, the two do not sign the same.
            #expect((0.1...2).contains(ratio), "\(figure.string("algorithm") ?? ""): \(ratio)")
        }
    }
}
