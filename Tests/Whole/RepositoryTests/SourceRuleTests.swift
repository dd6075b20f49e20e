import Testing

/// The rules of the house that no compiler and no formatter knows.
struct SourceRuleTests {
    @Test(arguments: SourceRule.sources) func sourcesKeepTheRule(_ rule: SourceRule) throws {
        let violations = rule.violations(in: try Repository.files(below: "Sources", suffix: ".swift"))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: SourceRule.everywhere, [("Sources", ".swift"), ("Tests", ".swift"), ("Migrations", ".sql")])
    func everyTextKeepsTheRule(_ rule: SourceRule, _ place: (folder: String, suffix: String)) throws {
        let violations = rule.violations(in: try Repository.files(below: place.folder, suffix: place.suffix))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: ["Sources", "Tests"]) func aFileHasOneSubject(_ folder: String) throws {
        let long = try Repository.files(below: folder, suffix: ".swift").filter { $0.lines.count > 400 }.map(\.path)
        #expect(long.isEmpty, "over 400 lines")
    }

    /// A rule that finds nothing could as well be broken.
    @Test(
        arguments: [
            ("try!", "let x = try! y()"), ("as!", "let x = y as! Z"), ("fatalError", "    fatalError(\"no\")"),
            ("print", "print(secret)"), ("the clock", "let now = Date()"), ("the clock", "now: time(nil)"),
            ("format string", "String(format: given)"), ("libpq", "internal import CLibPQ"),
            ("OpenSSL", "import COpenSSL"), ("PKCS#11", "import CPKCS11"),
            ("libyaml", "internal import CYAML"), ("Hummingbird", "public import Hummingbird"),
            ("Hummingbird", "import HummingbirdTLS"), ("Foundation", "import FoundationEssentials"),
            ("all of Foundation", "import Foundation"),
            ("newer than iOS 16", "let state = Mutex(0)"), ("newer than iOS 16", "a.utf8.span"),
        ])
    func aRuleFindsWhatItIsFor(_ name: String, _ line: String) throws {
        let rule = try #require(SourceRule.sources.first { $0.name == name })
        // No app links NativeSSO.
        let target = name == "newer than iOS 16" ? "StrictCoding" : "NativeSSO"
        let planted = RepositoryFile(path: "Sources/Broker/\(target)/Planted.swift", text: "import Crypto\n\(line)\n")
        #expect(
            rule.violations(in: [planted]) == ["Sources/Broker/\(target)/Planted.swift:2: \(name) (\(rule.reason))"])
    }

    @Test func aRuleLeavesCommentsAndOtherTargetsAlone() throws {
        let rule = try #require(SourceRule.sources.first { $0.name == "print" })
        let commented = RepositoryFile(
            path: "Sources/Broker/NativeSSO/A.swift", text: "f()  // not print(x)\n/// print(x)\n")
        let elsewhere = RepositoryFile(path: "Sources/Broker/native-sso/B.swift", text: "print(line)\n")
        let address = RepositoryFile(path: "Sources/Broker/NativeSSO/C.swift", text: "f(\"http://a\"); print(x)\n")
        #expect(rule.violations(in: [commented, elsewhere]).isEmpty)
        #expect(rule.violations(in: [address]).count == 1)
    }
}
