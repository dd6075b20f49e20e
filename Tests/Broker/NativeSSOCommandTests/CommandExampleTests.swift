import ArgumentParser
import Testing

@testable import native_sso

@Suite struct CommandExampleTests {
    private static func leaves(_ command: any ParsableCommand.Type, _ path: [String] = []) -> [String] {
        let subcommands = command.configuration.subcommands
        guard !subcommands.isEmpty else { return [path.joined(separator: " ")] }
        return subcommands.flatMap { leaves($0, path + [$0._commandName]) }
    }

    /// As a shell splits it: quotes, and no redirection.
    private static func words(_ line: String) -> [String] {
        var words: [String] = []
        for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            if index.isMultiple(of: 2) {
                words += part.split(separator: " ").map(String.init)
            } else {
                words.append(String(part))
            }
        }
        return Array(words.prefix { $0 != ">" })
    }

    @Test func everyCommandHasAnExampleAndNoOther() {
        #expect(Set(CommandExamples.all.keys) == Set(Self.leaves(NativeSSOCommand.self)))
    }

    @Test(arguments: CommandExamples.all.keys.sorted()) func anExampleParsesAsItsCommand(name: String) throws {
        for line in try #require(CommandExamples.all[name]) {
            let words = Self.words(line)
            #expect(words.first == "native-sso")
            #expect(CommandPath(Array(words.dropFirst())).names.joined(separator: " ") == name)
            _ = try NativeSSOCommand.parseAsRoot(Array(words.dropFirst()))
        }
    }
}
