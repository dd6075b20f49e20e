import Foundation
import Glibc
import OAuthWire
import Testing

@testable import native_sso

/// Files that the configuration names, and the configuration itself.
@Suite struct FileTests {
    private func passwordProblem(_ path: String) -> String? {
        let yaml = SampleFile.replacing("keys:\n", with: "  password_file: \(path)\nkeys:\n")
        let problems = SampleFile.problems(yaml)
        return problems.count == 1 ? problems[0] : nil
    }

    private static let openToOthers = "group or others can access the file; run chmod 600 on it"
    private static let longLine = String(repeating: "a", count: 4097)

    private static let secrets: [(text: String, mode: mode_t, message: String)] = [
        ("secret", 0o640, openToOthers), ("secret", 0o604, openToOthers), ("secret", 0o620, openToOthers),
        ("secret", 0o601, openToOthers), ("a\nb", 0o600, "the file is not one line of text"),
        ("a\u{0}b", 0o600, "the file is not one line of text"), ("a\n\n", 0o600, "the file is not one line of text"),
        (longLine, 0o600, "the file is longer than 4096 octets"),
    ]

    @Test(arguments: secrets)
    func secretIsRefused(text: String, mode: mode_t, message: String) throws {
        let file = try TemporaryFile(text, mode: mode)
        #expect(passwordProblem(file.path) == "test.yaml:4: database.password_file: \(message)")
    }

    @Test(arguments: ["", "\n", "\r\n"]) func emptySecretIsRefused(text: String) throws {
        let file = try TemporaryFile(text)
        #expect(passwordProblem(file.path) == "test.yaml:4: database.password_file: the file is empty")
    }

    @Test(arguments: [("pass\n", "pass"), ("pass\r\n", "pass"), (" pass ", " pass "), ("päss", "päss")])
    func secretIsTakenAsItIs(text: String, expected: String) throws {
        let file = try TemporaryFile(text, mode: 0o400)
        #expect(try SecretFile.read(file.path).secret == expected)
    }

    @Test func whatIsNoFileIsRefusedAtOnce() throws {
        let place = try TemporaryFile("")
        unlink(place.path)
        let prefix = "test.yaml:4: database.password_file: "
        #expect(passwordProblem(place.path) == prefix + "cannot open the file: No such file or directory")
        try #require(mkfifo(place.path, 0o600) == 0)
        for path in [place.path, "/", "/dev/zero"] {
            #expect(passwordProblem(path) == prefix + "is not a regular file")
        }
        #expect(passwordProblem("secret") == prefix + "write an absolute path, beginning with /")
    }

    private static let noKeySet = "the file is no JSON Web Key Set that holds a key for signatures"
    private static let openToAll = "everyone can write the file; run chmod o-w on it"

    private static let files: [(key: String, text: String, mode: mode_t, message: String)] = [
        ("jwks_file", "{}", 0o644, noKeySet), ("jwks_file", "[]", 0o644, noKeySet),
        ("jwks_file", #"{"keys":[]}"#, 0o644, noKeySet), ("jwks_file", "<html>", 0o644, noKeySet),
        ("jwks_file", #"{"keys":[{"kty":"oct","k":"AA"}]}"#, 0o644, noKeySet),
        ("jwks_file", #"{"keys":[]}"#, 0o666, openToAll), ("ca_file", "nothing", 0o666, openToAll),
        ("ca_file", "nothing", 0o644, "the file holds no certificates in PEM"),
    ]

    @Test(arguments: files)
    func fileOfAProviderIsRefused(key: String, text: String, mode: mode_t, message: String) throws {
        let file = try TemporaryFile(text, mode: mode)
        #expect(
            SampleFile.problems(SampleFile.adding("    \(key): \(file.path)")) == [
                "test.yaml:10: identity_providers[0].\(key): \(message)"
            ])
    }

    @Test func configurationIsUTF8ThatFewCanWrite() throws {
        let (open, strange) = (try TemporaryFile(SampleFile.minimal, mode: 0o646), try TemporaryFile(""))
        try (Data(SampleFile.minimal.utf8) + Data([0x23, 0xFF])).write(to: URL(filePath: strange.path))
        for (file, message) in [(open, Self.openToAll), (strange, "is not UTF-8")] {
            let error = #expect(throws: ConfigurationError.self) {
                try ConfigurationReader.read(file: file.path, environment: [:])
            }
            #expect(error?.problems.map(\.message) == [message])
        }
    }
}
