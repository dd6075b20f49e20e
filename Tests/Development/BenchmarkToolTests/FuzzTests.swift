import BrokerTesting
import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// Bent requests at real brokers, and that answers are read as they come.
@Suite(.timeLimit(.minutes(20))) struct FuzzTests {
    private static let requests = ProcessInfo.processInfo.environment["FUZZ_REQUESTS"].flatMap { Int($0) } ?? 200_000

    @Test func nothingThatIsSentBreaksTheBroker() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(Unguessable.make()).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), ["fuzz", "--requests", "\(Self.requests)"], log: log,
            within: .seconds(1140))
        let errors = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        try #require(result.status == 0, "\(errors.suffix(8000))")
        let report = try #require(try JSONReader.parse(Array(result.output.utf8)).object)
        let figure = try #require(report.object("fuzz")?.array("figures")?.first?.object)
        func count(_ name: String) -> Int64 { figure.number(name)?.int64 ?? 0 }
        #expect(count("requests") == Self.requests)
        #expect(count("wrong_answers") == 0)
        // They got far, and not all of them failed at the door.
        if Self.requests >= 200_000 { #expect(count("reasons") >= 115) }
        #expect(count("status_200") > 0 && count("status_401") > 0 && count("status_405") > 0)
        print("fuzzed: \(result.output)")
    }

    @Test func theSameSeedBendsInTheSameWay() throws {
        func texts(_ seed: UInt64) -> [[UInt8]] {
            var random = SeededRandom(seed: seed)
            var claims = JSONObject()
            claims["sub"] = .string("a")
            return (0..<50).map { _ in JSONMutation.text(of: claims, &random) }
        }
        #expect(texts(1) == texts(1))
        #expect(texts(1) != texts(2))
    }

    @Test func anAnswerIsReadAsItComes() {
        let text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        for count in 0..<text.utf8.count {
            guard case .incomplete = FuzzAnswer.read(Array(text.utf8)[..<count]) else {
                Issue.record("complete after \(count)")
                continue
            }
        }
        guard case .answer(let answer, let length) = FuzzAnswer.read(Array((text + "HTTP").utf8)[...]) else {
            Issue.record("incomplete")
            return
        }
        #expect(answer.status == 400 && answer.body == Array("abc".utf8) && answer.isLast && length == text.utf8.count)
        guard case .notHTTP = FuzzAnswer.read(Array("HTTP/2 400\r\n\r\n".utf8)[...]) else {
            Issue.record("that is not HTTP/1.1")
            return
        }
    }
}
