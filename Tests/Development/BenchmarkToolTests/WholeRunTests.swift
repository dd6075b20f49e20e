import Foundation
import StrictCoding
import BrokerHarness
import Testing

@testable import native_sso_bench

/// `native-sso-bench` as a process of its own, with as little work as it can be given.
@Suite(.timeLimit(.minutes(10))) struct WholeRunTests {
    @Test func everySubcommandGivesItsFigures() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "bench-\(UInt32.random(in: 0...UInt32.max))")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        defer { try? FileManager.default.removeItem(at: directory) }
        let log = directory.appending(path: "log")
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"),
            [
                "--rounds", "1", "--seconds", "0.2", "--logins", "200", "--connections", "3", "--callers", "2",
                "--dpop", "--algorithms", "RS256:ES256", "--sessions", "2000", "--sessions", "4000", "--directory",
                directory.path,
            ], environment: ["NATIVE_SSO_BENCH_COMMIT": "abc"], log: log, within: .seconds(540))
        try #require(result.status == 0, "\(result.errors)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        let report = try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
        #expect(report.string("commit") == "abc")
        #expect(report.object("postgresql")?.string("fsync") == "on")
        func figures(_ section: String) -> [JSONObject] {
            (report.object(section)?.array("figures") ?? []).compactMap(\.object)
        }
        func median(_ figure: JSONObject, _ metric: String) -> Double {
            figure.object(metric)?.number("median").flatMap { Double($0.text) } ?? 0
        }
        #expect(figures("start").allSatisfy { median($0, "ready_after_ms") > 0 })
        #expect(
            figures("database").map { "\($0.string("statement") ?? "") \($0.string("by") ?? "")" } == [
                "exchange pgbench", "exchange lanes", "refresh pgbench", "refresh lanes",
            ])
        #expect(
            figures("exchange").compactMap { $0.string("kind") }
                == ["new_login", "new_grant", "repeated", "repeated_dpop"])
        let proven = try #require(figures("exchange").last)
        #expect(median(proven, "throughput_to_reference") > 0 && median(proven, "cpu_to_bearer") > 0)
        #expect(figures("refresh").compactMap { $0.string("kind") } == ["refresh"])
        #expect(
            figures("scale").map { "\($0.string("kind") ?? "") \($0.string("pages") ?? "")" }
                == ["new_grant", "repeated"].flatMap { kind in
                    ["first_change", "first_change", "changed_before", "changed_before"].map { "\(kind) \($0)" }
                })
        for figure in figures("scale") {
            let (total, images) = (median(figure, "wal_octets"), median(figure, "wal_page_image_octets"))
            #expect(total > images && (images > 1000) == (figure.string("pages") == "first_change"), "\(images)")
        }
        // The README's table can be made of it.
        #expect(try MarkdownTable(report: Array(result.output.utf8)).text.split(separator: "\n").count == 2 + 5)
        let loads = figures("exchange") + figures("refresh") + figures("scale")
        for figure in figures("database") + loads {
            #expect(median(figure, "per_second") > 0)
            #expect(median(figure, "postgresql_cpu_us") > 0)
        }
        for figure in loads {
            #expect(median(figure, "broker_cpu_us") > 0)
            #expect(figure.number("wrong_answers")?.int64 == 0, "\(figure.string("first_wrong_answer") ?? "")")
        }
        // Nothing is left behind but the log.
        _ = try await eventually("the run's own directory is gone") {
            try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["log"] ? true : nil
        }
    }
}
