import Foundation
import Testing

/// The programs on the pages for developers of apps and APIs stand in a file that is compiled, and run by a test.
struct SnippetTests {
    /// By the language of a block: where its text must stand.
    private static let places = [
        "swift": ["Tests/Libraries"], "ts": ["Tests/Whole/WorldTests/Clients/typescript"],
        "go": ["Tests/Whole/WorldTests/Clients/go"], "apache": ["deploy/guide/clients"],
    ]
    private static let suffixes = ["swift": ".swift", "ts": ".ts", "go": ".go", "apache": ".conf"]

    private static func pages() throws -> [String] {
        try MarkdownPage.all().map(\.path).filter {
            $0.hasPrefix("deploy/guide/clients/") || $0.hasPrefix("Sources/Libraries/")
        }
    }

    @Test(arguments: ["swift", "ts", "go", "apache"])
    func everyBlockIsCompiled(_ language: String) throws {
        let files = try (Self.places[language] ?? []).flatMap {
            try Repository.files(below: $0, suffix: Self.suffixes[language] ?? "")
        }.map { $0.lines.joined(separator: "\n") }
        let blocks = try Self.pages().flatMap { path in
            Self.blocks(of: language, in: try Repository.text(of: path)).map { (path, $0) }
        }
        #expect(!blocks.isEmpty)
        for (path, block) in blocks where !block.hasPrefix("// Not compiled here") {
            #expect(files.contains { $0.contains(block) }, "\(path): \(block)")
        }
    }

    /// An app's first exchange takes 15 lines at most.
    @Test func theFirstExchangeIsShort() throws {
        let text = try Repository.text(of: "deploy/guide/clients/swift.md")
        let block = try #require(Self.blocks(of: "swift", in: text).first { $0.hasPrefix("func firstExchange") })
        #expect(block.split(separator: "\n").count + 1 <= 15)
    }

    private static func blocks(of language: String, in text: String) -> [String] {
        text.components(separatedBy: "\n```\(language)\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```").first ?? ""
        }
    }
}
