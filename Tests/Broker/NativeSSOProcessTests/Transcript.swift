import Foundation
import Testing

/// A recorded terminal session: what an operator types, why, and what the terminal shows. See `Tests/README.md`.
struct Transcript: Sendable {
    struct Step: Sendable {
        /// Why: lines that begin with `#`.
        let comments: [String]
        /// `$`: typed at the shell. `@`: done by a user with an app.
        let prompt: Character
        fileprivate(set) var lines: [String]
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts")

    static let all: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".txt") }.sorted()

    let name: String
    let kept: String
    private let title: [String]
    let steps: [Step]

    private var file: URL { Self.folder.appending(path: name) }

    init(_ name: String) throws {
        self.name = name
        kept = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
        var rest = kept.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)[...]
        title = Array(rest.prefix { $0.hasPrefix("#") })
        rest = rest.dropFirst(title.count)
        var steps: [Step] = []
        var comments: [String] = []
        // Comments follow an empty line, so that output may look like them.
        var followsEmptyLine = false
        while let line = rest.popFirst() {
            if line.hasPrefix("$ ") || line.hasPrefix("@ ") {
                var step = Step(comments: comments, prompt: line.first ?? "$", lines: [String(line.dropFirst(2))])
                while step.prompt == "$", let next = rest.first, next.hasPrefix("> ") {
                    step.lines.append(String(next.dropFirst(2)))
                    rest = rest.dropFirst()
                }
                steps.append(step)
                comments = []
            } else if line.hasPrefix("#"), followsEmptyLine || !comments.isEmpty {
                comments.append(line)
            } else {
                comments = []
            }
            followsEmptyLine = line.isEmpty
        }
        self.steps = steps
    }

    /// The file with other outputs.
    func text(showing outputs: [[String]]) -> String {
        var paragraphs = title.isEmpty ? [] : [title]
        for (step, output) in zip(steps, outputs) {
            let typed = step.lines.enumerated().map { $0 == 0 ? "\(step.prompt) \($1)" : "> \($1)" }
            paragraphs.append(step.comments + typed + output)
        }
        return paragraphs.map { $0.map { $0 + "\n" }.joined() }.joined(separator: "\n")
    }

    /// Compares the file octet by octet. With `UPDATE_TRANSCRIPTS=1`, writes it first.
    func expect(_ fresh: String) throws {
        guard Array(kept.utf8) != Array(fresh.utf8) else { return }
        if ProcessInfo.processInfo.environment["UPDATE_TRANSCRIPTS"] == "1" {
            return try fresh.write(to: file, atomically: true, encoding: .utf8)
        }
        let lines = [kept, fresh].map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
        let same = zip(lines[0], lines[1]).prefix { $0 == $1 }.count
        Issue.record(
            """
            \(name), line \(same + 1)
            has:   \(lines[0].dropFirst(same).first ?? "(its end)")
            is now: \(lines[1].dropFirst(same).first ?? "(its end)")
            If the program is right: UPDATE_TRANSCRIPTS=1 swift test --filter TranscriptTests
            """)
    }
}
