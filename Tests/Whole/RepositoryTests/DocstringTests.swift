import Testing

/// What others build on says what it promises: the libraries, and the ports of the core.
struct DocstringTests {
    static let folders = ["Sources/Libraries", "Sources/Broker/NativeSSO/Ports"]

    @Test(arguments: folders) func everyPublicSymbolHasADocstring(_ folder: String) throws {
        let findings = try Repository.files(below: folder, suffix: ".swift").flatMap(Self.undocumented)
        #expect(findings == [])
    }

    /// What the standard library's protocols ask for needs no words of ours.
    private static var known: Regex<Substring> {
        /\b(?:==|<|hash\(into|init\b|description|debugDescription|customMirror|encode\(to)/
    }

    /// `path:line: declaration` for each public symbol, and each requirement of a public protocol, without a `///` line
    /// above.
    private static func undocumented(in file: RepositoryFile) -> [String] {
        var (isProtocol, isDocumented): (Bool, Bool) = (false, false)
        var findings: [String] = []
        for (index, line) in file.lines.enumerated() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("///") { isDocumented = true }
            if text.isEmpty || text.hasPrefix("//") || text.hasPrefix("@") && !text.contains(/\b(?:public|package)\b/) {
                continue
            }
            let isDeclaration =
                text.firstMatch(
                    of:
                        /^(?:@\w+(?:\([^)]*\))? )*(?:nonisolated )?(?:public|package) (?!import|extension|internal\(set\))/
                ) != nil
                || isProtocol && text.firstMatch(of: /^(?:func|var|static func|init|associatedtype)\b/) != nil
            if isDeclaration, !isDocumented, text.firstMatch(of: known) == nil {
                findings.append("\(file.path):\(index + 1): \(text)")
            }
            if text.contains(/\b(?:public|package) protocol\b/) { isProtocol = !text.hasSuffix("}") }
            if isProtocol, line.hasPrefix("}") { isProtocol = false }
            isDocumented = false
        }
        return findings
    }

    /// A rule that finds nothing could as well be broken.
    @Test func aMissingDocstringIsFound() {
        let file = RepositoryFile(
            path: "A.swift",
            text: """
                public import Foundation
                /// Documented.
                @frozen
                public struct A {
                    public let bare: Int
                    /// Documented.
                    public let said: Int
                    let own: Int
                    public var description: String { "" }
                }
                /// Documented.
                public protocol B {
                    func bare()
                }
                """)
        #expect(Self.undocumented(in: file).map { $0.prefix(10) } == ["A.swift:5:", "A.swift:13"])
    }
}
