import Testing

/// The project has one word for each thing: `NativeSSO.docc/Glossary.md`.
struct GlossaryTests {
    /// Words that have a better one, whatever they are said of.
    private static let words: [(word: String, instead: String)] = [
        ("whoever", "the client, the operator, an attacker"), ("whomever", "the client, the operator, an attacker"),
        ("nobody", "no client, no one; or name who"), ("turnstile", "semaphore"),
        ("door", "listener, endpoint or harness"), ("doors", "listeners, endpoints or harnesses"),
        ("appraisal", "request checks"), ("heeds", "key binding"), ("two holders", "reuse"),
        ("refresh chain", "token family"), ("token chain", "token family"), ("that which", "the thing's name"),
        ("that is none", "that is not one"), ("is none of", "is not one of"), ("is none that", "is not one that"),
    ]

    /// This file plants the words.
    private static let path = "Tests/Whole/RepositoryTests/GlossaryTests.swift"

    private static func findings(in text: some StringProtocol) -> [String] {
        let text = String(text).replacing(/`[^`]*`/, with: " ").lowercased().map {
            $0.isLetter || $0 == "'" ? String($0) : " "
        }.joined()
        let words = " " + text.split(separator: " ").joined(separator: " ") + " "
        return Self.words.filter { words.contains(" \($0.word) ") }.map { "\($0.word) (write: \($0.instead))" }
    }

    @Test func pagesUseTheGlossary() throws {
        let findings = try MarkdownPage.all().filter { !$0.path.hasSuffix("/Glossary.md") }.flatMap { page in
            page.sentences.flatMap { sentence in
                Self.findings(in: sentence.text).map { "\(page.path):\(sentence.line): \($0)" }
            }
        }
        #expect(findings == [])
    }

    /// Help, errors, log events, metrics, refusals: what the programs say.
    @Test func textsOfTheProgramsUseTheGlossary() throws {
        let findings = try Repository.files(below: "Sources", suffix: ".swift").flatMap { file in
            Self.literals(of: file).flatMap { number, text in
                Self.findings(in: text).map { "\(file.path):\(number): \($0)" }
            }
        }
        #expect(findings == [])
    }

    /// What others read in their editor.
    @Test(arguments: DocstringTests.folders) func docstringsUseTheGlossary(_ folder: String) throws {
        let findings = try Repository.files(below: folder, suffix: ".swift").flatMap { file in
            file.lines.enumerated().filter { $0.element.contains("///") }.flatMap { index, line in
                Self.findings(in: line).map { "\(file.path):\(index + 1): \($0)" }
            }
        }
        #expect(findings == [])
    }

    @Test func namesOfTestsUseTheGlossary() throws {
        let findings = try Repository.files(below: "Tests", suffix: ".swift").flatMap { file in
            file.path == Self.path
                ? []
                : file.lines.enumerated().flatMap { index, line in
                    Self.names(in: line).flatMap { Self.findings(in: $0) }.map { "\(file.path):\(index + 1): \($0)" }
                }
        }
        #expect(findings == [])
    }

    /// Types, protocols and files. Other parts of a name are free: a keychain is no chain.
    @Test func namesOfTypesUseTheGlossary() throws {
        let files = try ["Sources", "Tests"].flatMap { try Repository.files(below: $0, suffix: ".swift") }
        // Swift compiles a regex literal each time it evaluates it, so not in the loop.
        let declaration = /\b(?:struct|class|enum|actor|protocol|typealias) ([A-Z]\w*)/
        let findings = files.flatMap { file in
            let declared = file.lines.flatMap { line in line.matches(of: declaration).map { String($0.output.1) } }
            let name = file.path.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
            return Self.wrongTypes(among: declared + [name]).map { "\(file.path): \($0)" }
        }
        #expect(findings == [])
    }

    private static let typeWords: Set = [
        "stage", "door", "chain", "journal", "turnstile", "trouble", "meeting", "flow",
    ]

    private static func wrongTypes(among names: [String]) -> [String] {
        let hump = /([a-z])([A-Z])/
        return names.filter { name in
            let words = name.replacing(hump, with: { "\($0.output.1) \($0.output.2)" }).lowercased()
            return words.split(separator: " ").contains { typeWords.contains(String($0)) }
        }
    }

    /// The texts of a source by line: literals of one line, and the lines of longer ones.
    private static func literals(of file: RepositoryFile) -> [(Int, Substring)] {
        var isLong = false
        return file.lines.enumerated().flatMap { index, line -> [(Int, Substring)] in
            guard isLong || line.utf8.contains(UInt8(ascii: "\"")) else { return [] }
            let code = isLong ? line : SourceRule.code(of: line)
            if code.contains("\"\"\"") {
                isLong.toggle()
                return []
            }
            return isLong
                ? [(index + 1, code)]
                : code.replacing(/\\\([^)"]*\)/, with: "").matches(of: /"((?:[^"\\]|\\.)*)"/).map {
                    (index + 1, $0.output.1)
                }
        }
    }

    /// Of functions as words, and of tests and suites as they are displayed.
    private static func names(in line: Substring) -> [String] {
        guard line.contains("func ") || line.contains("@Test") || line.contains("@Suite") else { return [] }
        if let name = line.firstMatch(of: /func (?:`([^`]+)`|(\w+))/)?.output {
            return [
                String(name.1 ?? name.2 ?? "").replacing(/([a-z])([A-Z])/, with: { "\($0.output.1) \($0.output.2)" })
            ]
        }
        return line.firstMatch(of: /@(?:Test|Suite)\("([^"]*)"/).map { [String($0.output.1)] } ?? []
    }

    // MARK: The rule finds what it is for

    @Test func aWordIsFound() {
        #expect(Self.findings(in: "Whoever asks").count == 1)
        #expect(Self.findings(in: "a name:\nis none of them").count == 1)
        #expect(Self.findings(in: "`nobody` is a user").isEmpty)
        #expect(Self.findings(in: "indoors, nonetheless").isEmpty)
        #expect(
            Self.wrongTypes(among: ["KeySetStage", "TokenChain", "InMemoryKeychain"]) == ["KeySetStage", "TokenChain"])
    }

    @Test func theRightTextsAreRead() {
        let file = RepositoryFile(
            path: "Sources/Broker/A/B.swift",
            text: "let a = \"nobody\"  // nobody\n/// nobody\nlet b = \"\"\"\n    nobody\n    \"\"\"\nlet nobody = 1\n")
        #expect(Self.literals(of: file).filter { !Self.findings(in: $0.1).isEmpty }.map(\.0) == [1, 4])
        for line: Substring in [
            "@Test func nobodyGetsIn() {", "@Test(\"Nobody gets in\")", "func `nobody gets in`() {",
        ] {
            #expect(Self.names(in: line).map { Self.findings(in: $0).count } == [1])
        }
        #expect(Self.names(in: "    let nobody = 1").isEmpty)
    }
}
