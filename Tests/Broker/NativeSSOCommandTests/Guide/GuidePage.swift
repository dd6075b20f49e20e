import Foundation
import Testing

/// A page of `deploy/guide`: a written introduction, a marker, and text generated from the program.
struct GuidePage {
    static let marker = "<!-- generated below: UPDATE_GUIDE=1, see Tests/README.md -->"
    static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let folder = repository.appending(path: "deploy/guide")

    let name: String

    /// Compares the text below the marker with `generated`. With `UPDATE_GUIDE=1`, writes it first.
    func expect(_ generated: String) throws {
        let file = Self.folder.appending(path: name)
        let page = try String(contentsOf: file, encoding: .utf8)
        let end = try #require(page.range(of: Self.marker)?.upperBound, "\(name) has no marker")
        try Self.expect(String(page[..<end]) + "\n\n" + generated, in: file)
    }

    /// The same for a file that is generated as a whole.
    static func expect(_ fresh: String, in file: URL) throws {
        if ProcessInfo.processInfo.environment["UPDATE_GUIDE"] == "1" {
            try fresh.write(to: file, atomically: true, encoding: .utf8)
        }
        let kept = try String(contentsOf: file, encoding: .utf8)
        guard kept != fresh else { return }
        let line = zip(kept.split(separator: "\n"), fresh.split(separator: "\n")).first { $0 != $1 }
        Issue.record(
            """
            \(file.lastPathComponent) differs from the program\(line.map { ", first in: \($0.1)" } ?? " in length").
            If the program is right: UPDATE_GUIDE=1 swift test --filter GuidePageTests
            """)
    }
}

/// Markdown tables.
enum Markdown {
    static func table(_ titles: [String], _ rows: [[String]]) -> String {
        ([titles, titles.map { _ in "---" }] + rows)
            .map { "| " + $0.map { cell in cell.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n" }
            .joined()
    }

    static func code(_ text: String) -> String { "`\(text)`" }
}

/// Every generated page matches the program.
@Suite struct GuidePageTests {}
