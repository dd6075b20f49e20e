import Foundation
import Testing

@testable import native_sso

/// What the README shows of the configuration is read as it stands there.
@Suite struct ReadmeTests {
    private static let text = Result {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    private static let blocks: [String] = {
        guard let text = try? text.get() else { return [] }
        return text.matches(of: /```yaml\n(?<yaml>.*?)```/.dotMatchesNewlines()).map { String($0.output.yaml) }
    }()

    @Test func thereAreAnExampleAndRecipes() throws {
        _ = try Self.text.get()
        #expect(Self.blocks.filter { $0.hasPrefix("issuer:") }.count == 1)
        #expect(Self.blocks.filter { $0.hasPrefix("identity_providers:") }.count >= 6)
    }

    /// A recipe is the part about identity providers, in place of that of a file that holds.
    @Test(arguments: blocks) func holds(_ yaml: String) throws {
        guard yaml.hasPrefix("identity_providers:") else {
            let password = try TemporaryFile("secret")
            let elsewhere = yaml.replacing("/etc/native-sso/database-password", with: password.path)
            #expect(SampleFile.problems(elsewhere) == [])
            return
        }
        let others = try #require(SampleFile.minimal.range(of: "identity_providers:"))
        let file = SampleFile.minimal[..<others.lowerBound] + yaml
        #expect(SampleFile.problems(String(file)) == [])
    }
}
