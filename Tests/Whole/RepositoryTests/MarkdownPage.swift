import Foundation

/// One page of documentation, as its rules see it.
struct MarkdownPage: Sendable {
    /// Stands above what a test generates from the program.
    static let marker = "<!-- generated below:"

    let path: String
    private let lines: [Substring]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Every page of the checkout.
    static func all() throws -> [MarkdownPage] {
        try ["deploy", "Sources", "Tests", "Migrations"].flatMap { try Repository.urls(below: $0) }
            .filter { $0.pathExtension == "md" }.map(RepositoryFile.init)
            .map { MarkdownPage(path: $0.path, text: $0.lines.joined(separator: "\n")) }
            + [MarkdownPage(path: "README.md", text: try Repository.text(of: "README.md"))]
    }

    var isGenerated: Bool { lines.contains { $0.hasPrefix(Self.marker) } }

    /// Code blocks included: a reader reads them too.
    var wordCount: Int { lines.reduce(0) { $0 + $1.split(separator: " ").count } }

    /// The lines outside code blocks.
    private var proseLines: [(number: Int, text: Substring)] {
        var isCode = false
        return lines.enumerated().compactMap { index, line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (index + 1, line)
        }
    }

    // MARK: Links

    /// `path:line: target` for each relative link that leads nowhere.
    func brokenLinks(exists: (_ path: String) -> Bool, page: (_ path: String) -> MarkdownPage?) -> [String] {
        proseLines.flatMap { number, line in
            line.matches(of: /\]\(([^()\s]+)\)/).map(\.output.1).filter { target in
                guard target.firstMatch(of: /^[a-z]+:/) == nil else { return false }
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let file = parts[0].isEmpty ? path : Self.resolve(parts[0], from: path)
                guard exists(file) else { return true }
                guard parts.count == 2, let anchors = (file == path ? self : page(file))?.anchors else { return false }
                return !anchors.contains(String(parts[1]))
            }.map { "\(path):\(number): \($0)" }
        }
    }

    /// The headings as GitHub names them.
    private var anchors: Set<String> {
        Set(
            proseLines.filter { $0.text.hasPrefix("#") }.map { _, line in
                String(
                    line.drop { $0 == "#" }.dropFirst().lowercased().compactMap { character in
                        character == " "
                            ? "-"
                            : character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
                    })
            })
    }

    private static func resolve(_ target: Substring, from page: String) -> String {
        var parts = page.split(separator: "/").dropLast()
        for part in target.split(separator: "/") {
            if part == ".." { parts = parts.dropLast() } else if part != "." { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    // MARK: Prose

    struct Sentence: Sendable {
        let line: Int
        let text: String
        var wordCount: Int { text.split(separator: " ").count }
    }

    /// What people read as sentences: paragraphs, list items and table cells, code left out.
    var sentences: [Sentence] {
        var blocks: [(line: Int, text: String)] = []
        var continues = false
        for (number, line) in proseLines {
            let text = line.replacing(/`[^`]*`/, with: "code").replacing(/\]\([^)]*\)/, with: "]")
                .trimmingCharacters(in: .whitespaces)
            switch text.first {
            case nil, "#", "<": continues = false
            case "|":
                blocks += text.split(separator: "|").map { (number, String($0)) }
                continues = false
            default:
                let isItem = text.firstMatch(of: /^(?:[-*>]|\d+\.)\s/) != nil
                if continues, !isItem {
                    blocks[blocks.count - 1].text += " " + text
                } else {
                    blocks.append((number, text))
                }
                continues = true
            }
        }
        return blocks.flatMap { block in
            block.text.replacing(/([.!?:])(["”)*]*)\s/, with: { "\($0.output.1)\($0.output.2)\n" }).split(
                separator: "\n"
            )
            .map { Sentence(line: block.line, text: String($0)) }
        }
    }
}
