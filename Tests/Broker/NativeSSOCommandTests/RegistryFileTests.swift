import Foundation
import Testing

@testable import native_sso

/// What is wrong with a registry file shows without the registry. `RefusalTests` has what its reader refuses in any file.
@Suite struct RegistryFileTests {
    /// Lines after those of one client, the line of the mistake, and its words.
    @Test(
        arguments: [
            ("    dpopp: required\n", 5, "clients[0].dpopp: is not a key of a registry file; did you mean dpop?"),
            ("    dpop: sometimes\n", 5, "write one of off, optional, required"),
            ("    access_token_lifetime: 25h\n", 5, "must be from 10s to 1d"),
            ("    allowed_scope: [two words]\n", 5, "write one scope"),
            ("    client_secret: hunter2\n", 5, "native-sso client secret rotate"),
            ("  - client_id: app1\n", 5, "describes the client a second time, after line 3; remove one of them"),
            ("scopes:\n  - scope: a\n  - scope: a\n", 7, "describes the scope a second time"),
            (
                """
                groups:
                  - group_id: g
                    issuer: i
                    members: [{client_id: a, role: both}]
                  - group_id: h
                    issuer: i
                    members: [{client_id: a, role: both}]
                """, 11, "is a member of a group of this issuer already, after line 8"
            ),
        ] as [(String, Int, String)])
    func aMistakeIsNamedWithItsLine(lines: String, line: Int, words: String) {
        let problems = Self.problems("name: mobile\nclients:\n  - client_id: app1\n    audiences: [a]\n" + lines)
        #expect(problems.contains { $0.hasPrefix("file.yaml:\(line): ") && $0.contains(words) }, "\(problems)")
        #expect(!problems.joined().contains("hunter2"))
    }

    @Test func itHasAName() {
        #expect(Self.problems("clients: []\n").first?.contains("name: is missing") == true)
    }

    @Test func invalidUTF8AndAFileThatIsTooLong() throws {
        let file = try TemporaryFile("name: m\nclients:\n  - client_id: ")
        let handle = try #require(FileHandle(forWritingAtPath: file.path))
        _ = try handle.seekToEnd()
        try handle.write(contentsOf: Data([0xC3, 0x28, 0x0A]))
        #expect(Self.failure(of: file)?.hasPrefix("file.yaml:3: is not UTF-8") == true)
        try handle.truncate(atOffset: UInt64(RegistryFile.limit) + 1)
        #expect(Self.failure(of: file)?.contains("longer than") == true)
    }

    private static func problems(_ yaml: String) -> [String] {
        lines { () throws(ConfigurationError) in
            do throws(ConfigurationProblem) {
                return try RegistryFile.read(yaml: yaml, path: "file.yaml")
            } catch {
                throw ConfigurationError(file: "file.yaml", problems: [error])
            }
        }
    }

    private static func failure(of file: TemporaryFile) -> String? {
        lines { () throws(ConfigurationError) in try RegistryFile.read(file.path) }.first
    }

    private static func lines(_ read: () throws(ConfigurationError) -> RegistryFile) -> [String] {
        do throws(ConfigurationError) {
            try read().check()
            return []
        } catch {
            return error.problems.map { $0.line(file: "file.yaml") }
        }
    }
}
