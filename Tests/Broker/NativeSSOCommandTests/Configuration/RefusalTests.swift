import Foundation
import Testing

@testable import native_sso

/// Each rule with a configuration that breaks it, and the message that it gets.
@Suite struct RefusalTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let yaml: String
        /// Each with its line.
        let messages: [String]
        var testDescription: String { messages.joined(separator: "\n") }

        init(yaml: String, expected: String...) {
            self.yaml = yaml
            messages = expected
        }

        /// The paragraphs of a file below `Golden`. `refused.txt` says how they are read.
        static func table(_ name: String) -> [Refusal] {
            let file = Bundle.module.bundleURL.appending(path: "Golden/\(name).txt")
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            return text.components(separatedBy: "\n\n").map { Refusal(paragraph: $0) }.filter { !$0.messages.isEmpty }
        }

        private init(paragraph: String) {
            let lines = paragraph.split(separator: "\n").filter { !$0.hasPrefix("#") }
            func text(_ mark: String) -> String {
                lines.filter { $0.hasPrefix(mark) }.map { $0.dropFirst(mark.count) }.joined(separator: "\n")
            }
            let (old, added) = (text("~ "), text("> "))
            let changed = old.isEmpty ? SampleFile.minimal : SampleFile.replacing(old, with: text("= "))
            yaml = added.isEmpty ? changed : changed + added + "\n"
            messages = lines.filter { !["~ ", "= ", "> "].contains(String($0.prefix(2))) }.map(String.init)
        }
    }

    @Test(arguments: Refusal.table("refused") + others)
    func isRefused(_ refusal: Refusal) {
        #expect(SampleFile.problems(refusal.yaml) == refusal.messages.map { "test.yaml:" + $0 })
    }

    @Test(arguments: Refusal.table("doubtful")) func isDoubtful(_ doubt: Refusal) throws {
        let warnings = doubt.messages.map { "test.yaml:" + $0 }
        #expect(try SampleFile.warnings(doubt.yaml) == [SampleFile.unnamedProxy] + warnings)
    }

    @Test func theTablesAreRead() {
        #expect(Refusal.table("refused").count > 120 && Refusal.table("doubtful").count == 6)
    }

    private static let bomb =
        "a: &a [x, x]\nb: &b [*a, *a]\n" + (0..<60).map { "c\($0): &b [*b, *b]\n" }.joined()

    /// What a paragraph cannot show, and what the abuse catalogue names.
    private static let others = [
        Refusal(
            yaml: SampleFile.adding("internal: { listen: 0.0.0.0:8081 }"),
            expected: "10: internal.listen: the internal listener knows no passwords: listen on loopback, such as "
                + "127.0.0.1:8081, set tls.client_ca, or set allow_non_loopback: true where the network keeps strangers away"
        ),
        Refusal(
            yaml: SampleFile.replacing("https://sso.example.com", with: "https://sso.example.com/"),
            expected: "1: issuer: must not end with a slash: issuers are compared octet by octet"),
        Refusal(
            yaml: SampleFile.replacing("[RS256]", with: "[none]"),
            expected:
                "9: identity_providers[0].algorithms[0]: none is no signature: anyone could write such a token; write "
                + "one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519"),
        Refusal(
            yaml: SampleFile.adding("log: { level: trace }"),
            expected: "10: log.level: trace is for development only; write info, notice, warning, error or critical"),
        Refusal(yaml: "", expected: " is empty"),
        Refusal(yaml: "a\u{0}b", expected: " is not YAML: control characters are not allowed"),
        Refusal(
            yaml: SampleFile.adding(bomb),
            expected: "10: anchors (&) and aliases (*) are not read; write the value out"),
    ]
}
