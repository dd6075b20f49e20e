import BrokerHarness
import Foundation
import StrictCoding
import Testing

@testable import native_sso_bench

/// Each command of `native-sso-bench` as a process of its own, with as little work as it can be given. A wrong answer is status 1.
@Suite(.timeLimit(.minutes(20))) struct CommandTests {
    @Test func exchangesRefreshesAndScaleGiveTheirFigures() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "bench-\(UInt32.random(in: 0...UInt32.max))")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        defer { try? FileManager.default.removeItem(at: directory) }
        let report = try await report(
            "--rounds", "1", "--seconds", "0.2", "--logins", "200", "--connections", "3", "--dpop", "--algorithms",
            "RS256:ES256", "--sessions", "2000", "--sessions", "4000", "--directory", directory.path)
        #expect(report.string("commit") == "abc")
        #expect(report.object("postgresql")?.string("fsync") == "on")
        #expect(report.figures("start").allSatisfy { $0.median("ready_after_ms") > 0 })
        let exchanges = report.figures("exchange")
        #expect(exchanges.map { $0.string("kind") } == ["new_login", "new_grant", "repeated", "repeated_dpop"])
        #expect(report.figures("refresh").map { $0.string("kind") } == ["refresh"])
        for figure in exchanges + report.figures("refresh") {
            #expect(figure.median("broker_cpu_to_raw_cryptography") > 0)
        }
        let scale = report.figures("scale")
        try #require(
            scale.map { "\($0.string("kind") ?? "") \($0.string("pages") ?? "")" }
                == ["new_grant", "repeated"].flatMap { kind in
                    ["first_change", "first_change", "changed_before", "changed_before"].map { "\(kind) \($0)" }
                })
        // The first change of a page after a checkpoint is logged with the whole page.
        for index in [0, 1, 4, 5] { #expect(scale[index].median("wal_octets") > scale[index + 2].median("wal_octets")) }
        for figure in exchanges + report.figures("refresh") + scale {
            for metric in ["per_second", "broker_cpu_us", "postgresql_cpu_us"] { #expect(figure.median(metric) > 0) }
        }
        #expect(try MarkdownTable(report: report.octets).text.split(separator: "\n").count == 2 + 5)
        _ = try await eventually("the run's own directory is gone") {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty ? true : nil
        }
    }

    @Test func idleConnectionsAreHeld() async throws {
        let figures = try await report("connections", "--rounds", "1", "--idle", "100").figures("connections")
        #expect(
            figures.map { "\($0.string("transport") ?? "") \($0.string("connections") ?? "")" }
                == ["plain", "tls"].flatMap { transport in
                    ["none", "silent", "after_request", "gone"].map { "\(transport) \($0)" }
                })
        #expect(figures.allSatisfy { $0.median("resident_kib") > 0 })
    }

    /// Too short to judge growth, long enough to sample and draw it.
    @Test func everySampleOfASoakHasMemoryDescriptorsAndTables() async throws {
        let report = try await report("soak", "--hours", "0.002", "--rate", "64", "--logins", "200")
        let soak = try #require(report.object("soak"))
        let figure = try #require(report.figures("soak").first)
        #expect(figure.count("unavailable") == 0)
        #expect(figure.count("requests") > 200 && figure.count("sessions_ended") > 0)
        var samples: [String: [Int64]] = [:]
        for name in ["resident_kib", "descriptors", "table_octets", "rows", "wal_octets"] {
            samples[name] = soak.array(name)?.compactMap { $0.number?.int64 }
            #expect(samples[name]?.count == 9 && samples[name]?.allSatisfy { $0 > 0 } == true, "\(name)")
        }
        // New logins came meanwhile.
        let rows = try #require(samples["rows"])
        #expect(rows.count == 9 && rows[8] > rows[0])
        let charts = try ReportCharts(report: report.octets).charts
        #expect(charts.map(\.name) == ["soak"] && charts[0].chart.lines.map(\.points.count) == [9, 9])
    }

    @Test func refusalsThatLookAlikeTakeAlikeLong() async throws {
        let figures = try await report("timing", "--samples", "200").figures("timing")
        #expect(
            figures.map { "\($0.string("kind") ?? "") \($0.string("than") ?? "")" } == [
                "unknown_session ", "wrong_device ", "foreign_group ", "unknown_session wrong_device",
                "unknown_session foreign_group", "wrong_device foreign_group",
            ])
        #expect(figures.suffix(3).allSatisfy { $0.object("welch_t") != nil })
    }

    /// Few of the interleavings that `deploy/bench races` runs.
    @Test func theFunctionsKeepThePropertiesOfARace() async throws {
        let figure = try #require(try await report("races", "--interleavings", "300").figures("races").first)
        #expect(figure.string("fault") == "none" && figure.count("interleavings") == 300)
        #expect(figure.count("violations") == 0)
        // Calls meet, and most of them get through.
        let (waits, failures) = (figure.count("lock_waits"), figure.count("undone_transactions"))
        #expect(waits > 300 && failures < 150, "\(waits) waits, \(failures) undone transactions")
    }

    @Test func plantedFaultsAreFound() async throws {
        let mutants = ["exchange-without-share", "refresh-without-session-version"]
        let figures = try await report(
            "races", "--interleavings", "2000", "--mutant", mutants[0], "--mutant", mutants[1]
        ).figures("races")
        #expect(figures.map { $0.string("fault") } == mutants)
        #expect(figures.allSatisfy { $0.count("violations") == 1 })
    }

    @Test func bentRequestsBreakNoBroker() async throws {
        let requests = ProcessInfo.processInfo.environment["FUZZ_REQUESTS"].flatMap { Int($0) } ?? 40_000
        let report = try await report("fuzz", "--requests", "\(requests)")
        let figure = try #require(report.figures("fuzz").first)
        #expect(figure.count("requests") == requests)
        // The requests reached many different checks.
        if requests >= 40_000 { #expect(figure.count("reasons") >= 115) }
        for status in [200, 401, 405] { #expect(figure.count("status_\(status)") > 0) }
        print("fuzzed: \(String(decoding: report.octets, as: UTF8.self))")
    }

    private func report(_ arguments: String...) async throws -> JSONObject {
        let result = try await ManagedProcess.run(
            try BuildProducts.path(of: "native-sso-bench"), arguments,
            environment: ["NATIVE_SSO_BENCH_COMMIT": "abc"], within: .seconds(1140))
        try #require(result.status == 0, "\(result.errors.suffix(8000)) \(result.output)")
        let limits = JSONLimits(depth: 8, members: 10_000, elements: 1000)
        return try #require(try JSONReader.parse(Array(result.output.utf8), limits: limits).object)
    }
}

extension JSONObject {
    fileprivate func figures(_ section: String) -> [JSONObject] {
        (object(section)?.array("figures") ?? []).compactMap(\.object)
    }

    fileprivate func median(_ metric: String) -> Double {
        object(metric)?.number("median").flatMap { Double($0.text) } ?? 0
    }

    /// -1: it has none.
    fileprivate func count(_ name: String) -> Int64 { number(name)?.int64 ?? -1 }
}
