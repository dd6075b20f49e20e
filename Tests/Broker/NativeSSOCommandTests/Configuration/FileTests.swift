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

    @Test(arguments: [0o640, 0o604, 0o620, 0o601] as [mode_t])
    func secretOpenToOthersIsRefused(mode: mode_t) throws {
        let file = try TemporaryFile("secret", mode: mode)
        #expect(
            passwordProblem(file.path)
                == "test.yaml:4: database.password_file: group or others can access the file; run chmod 600 on it")
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func emptySecretIsRefused(text: String) throws {
        let file = try TemporaryFile(text)
        #expect(passwordProblem(file.path) == "test.yaml:4: database.password_file: the file is empty")
    }

    @Test(arguments: ["a\nb", "a\u{0}b", "a\n\n"])
    func secretIsOneLine(text: String) throws {
        let file = try TemporaryFile(text)
        #expect(passwordProblem(file.path) == "test.yaml:4: database.password_file: the file is not one line of text")
    }

    @Test(arguments: [("pass\n", "pass"), ("pass\r\n", "pass"), (" pass ", " pass "), ("päss", "päss")])
    func secretIsTakenAsItIs(text: String, expected: String) throws {
        let file = try TemporaryFile(text, mode: 0o400)
        #expect(try SecretFile.read(file.path).secret == expected)
    }

    @Test func whatIsNoFileIsRefusedAtOnce() throws {
        let place = try TemporaryFile("")
        unlink(place.path)
        #expect(
            passwordProblem(place.path)
                == "test.yaml:4: database.password_file: cannot open the file: No such file or directory")
        try #require(mkfifo(place.path, 0o600) == 0)
        #expect(passwordProblem(place.path) == "test.yaml:4: database.password_file: is not a regular file")
        #expect(passwordProblem("/") == "test.yaml:4: database.password_file: is not a regular file")
        #expect(passwordProblem("/dev/zero") == "test.yaml:4: database.password_file: is not a regular file")
        #expect(
            passwordProblem("secret") == "test.yaml:4: database.password_file: write an absolute path, beginning with /"
        )
    }

    @Test func longSecretIsRefused() throws {
        let file = try TemporaryFile(String(repeating: "a", count: 4097))
        #expect(
            passwordProblem(file.path) == "test.yaml:4: database.password_file: the file is longer than 4096 octets")
    }

    @Test func keySetThatEveryoneCanWriteIsRefused() throws {
        let file = try TemporaryFile(#"{"keys":[]}"#, mode: 0o666)
        #expect(
            SampleFile.problems(SampleFile.adding("    jwks_file: \(file.path)")) == [
                "test.yaml:10: identity_providers[0].jwks_file: everyone can write the file; run chmod o-w on it"
            ])
    }

    @Test(arguments: ["{}", "[]", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AA"}]}"#, "<html>"])
    func keySetWithoutKeysIsRefused(_ text: String) throws {
        let file = try TemporaryFile(text, mode: 0o644)
        #expect(
            SampleFile.problems(SampleFile.adding("    jwks_file: \(file.path)")) == [
                "test.yaml:10: identity_providers[0].jwks_file: the file is no JSON Web Key Set that holds a key for signatures"
            ])
    }

    @Test(arguments: [
        (0o644, "the file holds no certificates in PEM"), (0o666, "everyone can write the file; run chmod o-w on it"),
    ])
    func authoritiesThatAreNoneAreRefused(_ mode: mode_t, _ message: String) throws {
        let file = try TemporaryFile("nothing", mode: mode)
        #expect(
            SampleFile.problems(SampleFile.adding("    ca_file: \(file.path)")) == [
                "test.yaml:10: identity_providers[0].ca_file: \(message)"
            ])
    }

    @Test func configurationThatEveryoneCanWriteIsRefused() throws {
        let file = try TemporaryFile(SampleFile.minimal, mode: 0o646)
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationReader.read(file: file.path, environment: [:])
        }
        #expect(error?.problems.map(\.message) == ["everyone can write the file; run chmod o-w on it"])
    }

    @Test func configurationIsUTF8() throws {
        let file = try TemporaryFile(SampleFile.minimal)
        let descriptor = open(file.path, O_WRONLY | O_APPEND)
        defer { close(descriptor) }
        try #require(write(descriptor, [0x23, 0xFF] as [UInt8], 2) == 2)
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationReader.read(file: file.path, environment: [:])
        }
        #expect(error?.problems.map(\.message) == ["is not UTF-8"])
    }
}
