import ArgumentParser
import Foundation
import Testing

@testable import native_sso

/// The program accepts every example of configuration, JSON and command line in README and guide.
@Suite struct GuideExampleTests {
    struct Block: Sendable, CustomTestStringConvertible {
        let page: String
        let language: String
        let text: String

        var testDescription: String { "\(page): \(text.prefix(40))" }
    }

    /// The fenced blocks of every page.
    private static let blocks: [Block] = {
        let guide =
            FileManager.default.enumerator(at: GuidePage.folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        let pages = [GuidePage.repository.appending(path: "README.md")] + guide.compactMap { $0 as? URL }
        return pages.filter { $0.pathExtension == "md" }.sorted { $0.path < $1.path }.flatMap { page in
            blocks(of: (try? String(contentsOf: page, encoding: .utf8)) ?? "", page: page.lastPathComponent)
        }
    }()

    private static func blocks(of text: String, page: String) -> [Block] {
        text.matches(of: /(?ms)^(?<indent> *)```(?<language>\w+)\n(?<text>.*?)^ *```/).map { match in
            let lines = match.output.text.split(separator: "\n", omittingEmptySubsequences: false)
            let text = lines.map { $0.hasPrefix(match.output.indent) ? $0.dropFirst(match.output.indent.count) : $0 }
            return Block(page: page, language: String(match.output.language), text: text.joined(separator: "\n"))
        }
    }

    private static func blocks(in languages: Set<String>) -> [Block] {
        blocks.filter { languages.contains($0.language) }
    }

    @Test func theExamplesAreFound() {
        #expect(Self.blocks(in: ["yaml"]).count > 20)
        let lines = Self.blocks(in: ["sh", "console", "bash"]).flatMap { Self.commandLines(of: $0.text) }
        #expect(lines.count > 100 && lines.contains { $0.starts(with: ["migrate", "up"]) })
    }

    // MARK: Configuration

    /// A whole file, or sections that replace those of a valid file or join it.
    @Test(arguments: blocks(in: ["yaml"])) func theConfigurationHolds(_ block: Block) throws {
        let password = try TemporaryFile("secret")
        let yaml = block.text.replacing(/\/etc\/native-sso\/(database-password|token-pin)/, with: password.path)
        let isWhole = yaml.contains(/(?m)^issuer:/)
        let names = Set(Self.sections(of: yaml).map(\.name))
        // Limits by address need `public.trusted_proxies`.
        let sample = SampleFile.adding("    admit_on_first_sight: true\npublic: { trusted_proxies: [127.0.0.1] }")
        let others = isWhole ? [] : Self.sections(of: sample).filter { !names.contains($0.name) }
        let text = others.map(\.text).joined() + yaml
        #expect(SampleFile.problems(text) == [], "\(block.page)")
        let doubts = try SampleFile.allWarnings(text).filter {
            $0.contains("begins sessions") || $0.contains("is longer than sessions.idle")
        }
        #expect(doubts == [], "\(block.page)")
    }

    /// The top-level keys of a file, each with the lines that belong to it.
    private static func sections(of yaml: String) -> [(name: Substring, text: String)] {
        var sections: [(name: Substring, text: String)] = []
        for line in yaml.split(separator: "\n", omittingEmptySubsequences: false) {
            if let name = line.firstMatch(of: /^[a-z_]+(?=:)/)?.output { sections.append((name, "")) }
            if !sections.isEmpty { sections[sections.count - 1].text += line + "\n" }
        }
        return sections
    }

    // MARK: JSON

    @Test(arguments: blocks(in: ["json"])) func theJSONParses(_ block: Block) {
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(block.text.utf8)) }
    }

    // MARK: Command lines

    @Test(arguments: blocks(in: ["sh", "console", "bash"])) func theCommandLinesParse(_ block: Block) async {
        for words in Self.commandLines(of: block.text) {
            do {
                _ = try await NativeSSOCommand.command(words)
            } catch {
                // `--help` and `--version` throw an error with exit code 0.
                #expect(
                    NativeSSOCommand.exitCode(for: error) == .success,
                    "\(block.page): native-sso \(words.joined(separator: " ")): \(NativeSSOCommand.message(for: error))"
                )
            }
        }
    }

    /// So that it holds the broker's tokens, like the other apps.
    @Test(arguments: ["tutorial.md", "install.md", "apps-and-groups.md"])
    func theAppThatLogsInMayExchangeItsLogin(page: String) {
        let lines = Self.blocks(in: ["sh"]).filter { $0.page == page }.flatMap { Self.commandLines(of: $0.text) }
        #expect(lines.contains { $0.contains("app-one") && $0.contains("--self-exchange") })
        #expect(lines.contains(["group", "member", "add", "vendor", "app-one", "--role", "both"]))
    }

    /// The arguments of every command `native-sso`, of `native-sso-admin`, and of the shell function `owner` that stands
    /// for it.
    private static func commandLines(of text: String) -> [[String]] {
        text.replacing("\\\n", with: " ").split(separator: "\n").flatMap { line in
            words(of: line.replacing(/\$\([^()]*\)/, with: "$substituted")).split(whereSeparator: {
                ["|", "&&", "||", ";", "&"].contains($0)
            }).compactMap { command in
                guard let program = command.firstIndex(where: { isProgram($0) }),
                    command[..<program].allSatisfy({ isPrefix($0) })
                else { return nil }
                let arguments = command[(program + 1)...].prefix { !["<", ">", ">>", "2>"].contains($0) }
                // `…` stands for arguments that the page leaves out.
                return arguments.contains("…") || arguments.contains("…)") ? nil : arguments.map(concrete)
            }
        }
    }

    private static func isProgram(_ word: String) -> Bool {
        ["native-sso", "native-sso-admin", "owner"].contains(word) || word.hasSuffix("/native-sso")
    }

    private static func isPrefix(_ word: String) -> Bool {
        ["$", "#", "sudo", "-u", "env", "exec", "runuser", "--", "time"].contains(word) || word.contains("=")
            || word.hasPrefix("native")
            || ["postgres", "root", "sso", "broker"].contains(word)
    }

    /// A concrete value for a placeholder on a page.
    private static func concrete(_ word: String) -> String {
        switch word {
        case "REQUEST_ID", "ID", "SESSION_ID", "GRANT_ID", "GRANT": "00000000-0000-7000-8000-000000000001"
        case "DIGEST", "DEVICE", "DEVICE_DIGEST": String(repeating: "a", count: 64)
        default: word.hasPrefix("$") ? "00000000-0000-7000-8000-000000000001" : word
        }
    }

    /// Splits words as a shell does, as far as the pages need it: quotes and comments.
    static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var (word, quote): (String?, Character?) = (nil, nil)
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "\"" || character == "'" {
                (quote, word) = (character, word ?? "")
            } else if character == " " {
                if let done = word { words.append(done) }
                word = nil
            } else if character == "#", word == nil, !words.isEmpty {
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap(\.self)
    }
}
