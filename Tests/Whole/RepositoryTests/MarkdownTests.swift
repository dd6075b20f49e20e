import Foundation
import Testing

/// README, guide and the pages beside the sources.
struct MarkdownTests {
    private static let longestSentence = 40
    private static let longestPage = 1500
    private static let longestReadme = 900

    @Test func everyRelativeLinkLeadsSomewhere() throws {
        let pages = Dictionary(try MarkdownPage.all().map { ($0.path, $0) }) { first, _ in first }
        let broken = pages.values.flatMap { $0.brokenLinks(exists: Self.exists) { pages[$0] } }
        #expect(broken == [])
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Repository.root.appending(path: path).path)
    }

    @Test func aPageIsShort() throws {
        let long = try MarkdownPage.all().filter { !$0.isGenerated && $0.wordCount > Self.limit(of: $0.path) }
        #expect(long.map { "\($0.path): \($0.wordCount) words" } == [])
    }

    private static func limit(of path: String) -> Int { path == "README.md" ? longestReadme : longestPage }

    @Test func aSentenceIsShort() throws {
        let long = try MarkdownPage.all().flatMap(Self.longSentences)
        #expect(long == [])
    }

    private static func longSentences(in page: MarkdownPage) -> [String] {
        page.sentences.filter { $0.wordCount > longestSentence }.map { "\(page.path):\($0.line): \($0.text)" }
    }

    // MARK: The rules find what they are for

    @Test func aBrokenLinkIsFound() {
        let other = MarkdownPage(path: "deploy/guide/b.md", text: "# Two `code` words\n")
        let page = MarkdownPage(
            path: "deploy/guide/a.md",
            text: """
                # Here
                [a](b.md) [b](b.md#two-code-words) [c](#here) [d](https://x.example/gone.md) [e](../../README.md)
                [f](c.md) [g](b.md#three) [h](#there)
                ```
                [i](gone.md)
                ```
                """)
        let broken = page.brokenLinks(exists: { ["deploy/guide/a.md", "deploy/guide/b.md", "README.md"].contains($0) })
        {
            $0 == other.path ? other : nil
        }
        #expect(broken == ["c.md", "b.md#three", "#there"].map { "deploy/guide/a.md:3: \($0)" })
    }

    @Test func aLongSentenceIsFound() {
        func words(_ count: Int) -> String { Array(repeating: "word", count: count).joined(separator: " ") }
        let text = "\(words(20)). \(words(20)).\n\n\(words(30))\n\(words(11)).\n- \(words(25))\n- \(words(25))\n"
        let page = MarkdownPage(path: "a.md", text: "\(text)| \(words(41)) | \(words(40)) |\n```\n\(words(50))\n```\n")
        #expect(Self.longSentences(in: page).map { $0.prefix(7) } == ["a.md:3:", "a.md:7:"])
        #expect(MarkdownPage(path: "a.md", text: "one two\n```\nthree\n```\n").wordCount == 5)
    }
}
