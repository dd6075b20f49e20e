import ArgumentParser
import Foundation
import Testing

@testable import native_sso

@Suite struct CommandExampleTests {
    private static func leaves(_ command: any ParsableCommand.Type, _ path: [String] = []) -> [String] {
        let subcommands = command.configuration.subcommands
        guard !subcommands.isEmpty else { return [path.joined(separator: " ")] }
        return subcommands.flatMap { leaves($0, path + [$0._commandName]) }
    }

    /// What the operators of `NativeSSOProcessTests/Transcripts` type, as ``CommandPath`` reads it.
    private static func transcribed() throws -> Set<String> {
        let folder = GuidePage.repository.appending(path: "Tests/Broker/NativeSSOProcessTests/Transcripts")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let lines = try files.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("$ ") }
        }
        // A shell function may stand for the program with its configuration.
        let starts = ["native-sso", "owner"]
        return Set(
            lines.flatMap { $0.split(whereSeparator: { "|;&()".contains($0) }) }.compactMap { line -> String? in
                let words = line.split(separator: " ").map(String.init)
                guard let start = words.firstIndex(where: { starts.contains($0) }) else { return nil }
                let path = CommandPath(Array(words[(start + 1)...]))
                return path.asksForHelp || words.contains("--help") ? nil : path.text
            })
    }

    @Test func everyCommandOccursInATranscript() throws {
        let all =
            Self.leaves(NativeSSOCommand.self).map { "native-sso \($0)" }
            + Self.leaves(SupportProfile.self).map { "native-sso --profile support \($0)" }
        let missing = Set(all).subtracting(try Self.transcribed()).sorted()
        #expect(missing == [], "Type these in Tests/Broker/NativeSSOProcessTests/Transcripts")
    }

    @Test func everyCommandHasAnExampleAndNoOther() {
        #expect(Set(CommandExamples.all.keys) == Set(Self.leaves(NativeSSOCommand.self)))
    }

    @Test(arguments: CommandExamples.all.keys.sorted()) func anExampleParsesAsItsCommand(name: String) throws {
        for line in try #require(CommandExamples.all[name]) {
            let words = GuideExampleTests.words(of: line[...]).prefix { $0 != ">" && $0 != ">>" }
            #expect(words.first == "native-sso")
            #expect(CommandPath(Array(words.dropFirst())).names.joined(separator: " ") == name)
            _ = try NativeSSOCommand.parseAsRoot(Array(words.dropFirst()))
        }
    }
}
