import Foundation
import StrictCoding
import Testing

/// The dashboard and the alerts in deploy/monitoring, against the page of metrics, which `GuidePageTests` holds to the
/// program. `promtool` in deploy/test checks what the alerts do.
@Suite struct MonitoringTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: GuidePage.repository.appending(path: "deploy/\(path)"), encoding: .utf8)
    }

    /// Labels by metric.
    private static func exported() throws -> [String: [String]] {
        var metrics: [String: [String]] = [:]
        for row in try text("guide/observe.md").matches(
            of: /\| `([a-z_]+)` \| (?:counter|gauge|histogram) \| ([^|]*) \|/)
        {
            metrics[String(row.output.1)] = row.output.2.matches(of: /`([a-z]+)`/).map { String($0.output.1) }
        }
        return metrics
    }

    @Test(arguments: ["monitoring/alerts.yaml", "monitoring/alerts-test.yaml", "monitoring/dashboard.json"])
    func everyMetricIsExported(path: String) throws {
        let exported = try Self.exported()
        let text = try Self.text(path).replacing("\\\"", with: "\"")
        var count = 0
        for match in text.matches(of: /\b((?:native_sso|process)_[a-z_0-9]+)(?:\{([^}]*)\})?/) {
            let name = String(match.output.1)
            let family = name.replacing(/_(bucket|count|sum)$/, with: "")
            guard let labels = exported[name] ?? exported[family] else {
                Issue.record("\(path): \(name) is not exported")
                continue
            }
            for label in (match.output.2 ?? "").matches(of: /([a-z]+)\s*[=!]~?/).map({ String($0.output.1) })
            where !["job", "instance"].contains(label) {
                #expect(labels.contains(label), "\(path): \(name) has no label \(label)")
            }
            count += 1
        }
        #expect(count > 10)
    }

    @Test func everyAlertHasATestAndASectionOfTheGuide() throws {
        let alerts = try Self.text("monitoring/alerts.yaml")
        let names = alerts.matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        #expect((1...15).contains(names.count))
        let (page, tests) = (try Self.text("guide/alerts.md"), try Self.text("monitoring/alerts-test.yaml"))
        for name in names {
            #expect(page.contains("\n## \(name)\n"), "no section for \(name)")
            #expect(alerts.contains("runbook_url: alerts.md#\(name.lowercased())\n"), "no link for \(name)")
            #expect(tests.contains("alertname=\"\(name)\""), "no test of \(name)")
        }
        let sections = page.matches(of: /\n## (NativeSSO\w+)/).map { String($0.output.1) }
        #expect(sections == names)
    }

    @Test func theDashboardHasThreeRows() throws {
        let dashboard = try #require(
            try JSONReader.parse(
                Array(Self.text("monitoring/dashboard.json").utf8),
                limits: JSONLimits(depth: 16, members: 4096, elements: 4096)
            ).object)
        let panels = try #require(dashboard.array("panels")).compactMap(\.object)
        #expect(
            panels.filter { $0.string("type") == "row" }.map { $0.string("title") }
                == ["Service level", "Refusals", "Database and lanes"])
        for panel in panels where panel.string("type") != "row" {
            #expect(panel.array("targets")?.isEmpty == false, "\(panel.string("title") ?? "")")
        }
    }
}
