import BrokerHarness
import Foundation
import Testing

/// The catalogue is whole, and what it says of its cases is so.
struct CatalogueTests {
    private static let attacks = Set(Attack.all.map(\.id))
    /// Rows of our own.
    private static let beyond: Set = [
        "E-01", "F-07", "H-01", "H-14", "H-16", "H-28", "J-03", "J-05", "J-16", "J-20", "K-09", "R-09", "R-23", "S-04",
        "U-05",
    ]

    @Test func everyCaseHasOnePlace() {
        #expect(Catalogue.cases.count == Catalogue.count)
        #expect(Set(Catalogue.cases.map(\.id)).count == Catalogue.count)
        let areas = Dictionary(grouping: Catalogue.cases) { $0.id.prefix(1) }.mapValues(\.count)
        #expect(
            areas == [
                "H": 18, "F": 15, "C": 13, "J": 16, "K": 19, "W": 10, "D": 16, "S": 5, "U": 6, "R": 15, "P": 9, "X": 5,
                "E": 10, "L": 15, "V": 7, "M": 5, "T": 12, "G": 13,
                "Y": 10,
            ])
    }

    @Test func rowsAreThoseOfTheTable() {
        let rows = Set(
            Catalogue.cases.compactMap { entry in if case .row = entry.place { entry.id } else { nil } })
        #expect(rows.subtracting(Self.attacks).isEmpty, "the table lacks them")
        // A row whose case is said to wait, or to be tried elsewhere, would contradict the catalogue.
        #expect(Self.attacks.subtracting(rows) == Self.beyond)
    }

    @Test func testsElsewhereAreThere() throws {
        for entry in Catalogue.cases {
            switch entry.place {
            case .test(let file, let words):
                let source = try Self.text(of: file)
                #expect(Self.declares(source, words), "\(entry.id): \(file)")
            case .differs(let file, let words, because: _):
                let source = try Self.text(of: file)
                #expect(Self.declares(source, words) || Self.quotes(source, words), "\(entry.id): \(file)")
            case .refusal(let file, let words):
                let source = try Self.text(of: file)
                #expect(Self.quotes(source, words), "\(entry.id): \(file)")
            case .row, .doesNotApply: continue
            }
        }
    }

    /// - Parameter file: From the folder of a wing: `AbuseTests/LimitTests.swift`.
    private static func text(of file: String) throws -> String {
        let tests = Checkout.root.appending(path: "Tests")
        let wing = ["Broker", "Libraries", "Development"].first {
            FileManager.default.fileExists(atPath: tests.appending(path: $0 + "/" + file).path)
        }
        return try String(contentsOf: tests.appending(path: (wing ?? "Whole") + "/" + file), encoding: .utf8)
    }

    @Test func aCommentIsNoTest() {
        for source in [
            "@Test func holds() {", "@Test func `it holds, and on`() {", "@Test(\"it holds, and on\", arguments: [1])",
            "    @Test(\n        \"it holds\",",
        ] {
            #expect(Self.declares(source, "holds") || Self.declares(source, "it holds"), "\(source)")
        }
        for source in [
            "/// As holds says.", "// func holds() {", "    // @Test(\"it holds\")", "let a = \"it holds\"",
            "func holdsNot()",
        ] {
            #expect(!Self.declares(source, "holds") && !Self.declares(source, "it holds"), "\(source)")
        }
        #expect(Self.quotes("    issuer(\"it holds\"),", "it holds"))
        #expect(!Self.quotes("// \"it holds\"", "it holds") && !Self.quotes("it holds", "it holds"))
    }

    /// Whether `source` declares a function with this name, or a test with these words in its title.
    private static func declares(_ source: String, _ words: String) -> Bool {
        let code = code(source)
        return code.contains("func \(words)(")
            || code.matches(of: /func `([^`]*)`\(|@Test\(\s*"([^"]*)"/).contains { match in
                (match.1 ?? match.2 ?? "").contains(words)
            }
    }

    /// Whether `source` has these words between quotes.
    private static func quotes(_ source: String, _ words: String) -> Bool {
        code(source).matches(of: /"([^"\n]*)"/).contains { $0.1.contains(words) }
    }

    /// All but comments.
    private static func code(_ source: String) -> String {
        source.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    }

    /// Also in the output of the run.
    @Test func whatIsNotTriedSaysWhy() {
        for entry in Catalogue.cases {
            switch entry.place {
            case .row, .test, .refusal: continue
            case .differs(_, _, because: let reason):
                #expect(!reason.isEmpty)
                print("\(entry.id) differs: \(reason)")
            case .doesNotApply(let reason):
                #expect(!reason.isEmpty)
                print("\(entry.id) does not apply: \(reason)")
            }
        }
    }
}
