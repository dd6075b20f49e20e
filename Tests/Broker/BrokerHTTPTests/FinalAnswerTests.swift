@testable import BrokerHTTP
import Foundation
import NIOHTTP1
import Testing

/// `FinalAnswers.md` lists the reasons of final answers by the knowledge that they rest on.
@Suite("The page of final answers")
struct FinalAnswerTests {
    private static func page() throws -> String {
        try SourceTree.text("Sources/Broker/NativeSSO/NativeSSO.docc/FinalAnswers.md")
    }

    /// The words of the code blocks. The sentences of the page may name a reason again.
    private static func listed() throws -> [String] {
        var isBlock = false
        var words: [String] = []
        for line in try page().split(separator: "\n") {
            if line.hasPrefix("```") {
                isBlock.toggle()
            } else if isBlock {
                words += line.split(separator: " ").map(String.init)
            }
        }
        return words
    }

    /// Whether the same request cannot succeed later.
    private static func isFinal(_ row: RefusalRow) -> Bool {
        row.answer.status != .serviceUnavailable && row.answer.status != .tooManyRequests
    }

    @Test("The page lists each final reason once, and nothing else")
    func reasons() throws {
        let listed = try Self.listed()
        let due = Set(RefusalRow.all.map(\.row).filter(Self.isFinal).map(\.reason))
        #expect(due.subtracting(listed).sorted() == [], "missing")
        #expect(Set(listed).subtracting(due).sorted() == [], "not the reason of a final answer")
        let repeated = Dictionary(grouping: listed) { $0 }.filter { $0.value.count > 1 }
        #expect(repeated.keys.sorted() == [], "listed twice")
    }

    @Test("Each test that the page names exists")
    func tests() throws {
        let named = Set(try Self.page().matches(of: /`([A-Za-z0-9]+Tests)`/).map { String($0.output.1) })
        let files = FileManager.default.enumerator(
            at: SourceTree.root.appending(path: "Tests"), includingPropertiesForKeys: nil)
        let present = (files?.allObjects ?? []).compactMap {
            ($0 as? URL)?.deletingPathExtension().lastPathComponent
        }
        #expect(named.count > 10)
        #expect(named.subtracting(present).sorted() == [])
    }
}
