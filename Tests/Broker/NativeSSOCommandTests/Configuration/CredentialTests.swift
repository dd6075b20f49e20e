import Foundation
import Glibc
import OAuthWire
import Testing

@testable import native_sso

/// `credential:NAME` names a credential of the systemd service.
@Suite struct CredentialTests {
    /// A directory with one credential, removed with its owner.
    private final class Directory {
        let path = NSTemporaryDirectory() + "native-sso-credentials-" + UUID().uuidString

        init(_ name: String, _ text: String, mode: mode_t = 0o400) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
            try #require(chmod("\(path)/\(name)", mode) == 0)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func yaml(_ value: String) -> String {
        SampleFile.replacing("keys:\n", with: "  password_file: \(value)\nkeys:\n")
    }

    private func problems(_ value: String, _ directory: String?) -> [String] {
        SampleFile.problems(yaml(value), directory.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:])
    }

    @Test func aCredentialIsAFileOfTheDirectory() throws {
        let directory = try Directory("database-password", "secret\n")
        let environment = ["CREDENTIALS_DIRECTORY": directory.path]
        let database = try SampleFile.read(yaml("credential:database-password"), environment).database
        #expect(database.password?.secret == "secret")
        let variables = environment.merging(["NATIVE_SSO_DATABASE_PASSWORD_FILE": "credential:database-password"]) {
            $1
        }
        #expect(try SampleFile.read(SampleFile.minimal, variables).database.password?.secret == "secret")
    }

    @Test func aMissingCredentialSaysWhereToPutIt() throws {
        let directory = try Directory("other", "")
        for (path, words) in [
            (
                directory.path,
                "the service has no such credential; write the file /etc/credstore/native-sso.database-password, and see "
                    + "that the unit has LoadCredential=database-password:native-sso.database-password"
            ),
            (
                nil,
                "only a systemd service has credentials; run systemctl start native-sso, or native-sso-admin for other "
                    + "commands, or write an absolute path"
            ),
        ] as [(String?, String)] {
            #expect(
                problems("credential:database-password", path) == ["test.yaml:4: database.password_file: \(words)"])
        }
    }

    @Test(arguments: ["", "../x", "a/b", ".hidden", "a b", "ä"]) func aNameIsNoPath(name: String) throws {
        let directory = try Directory("x", "")
        #expect(
            problems("\"credential:\(name)\"", directory.path) == [
                "test.yaml:4: database.password_file: write credential: and a name of letters, digits, dots, hyphens and "
                    + "underscores, such as credential:database-password"
            ])
    }

    /// Where systemd grants access by a list, root owns the file and its mode is 0440.
    @Test(
        .enabled(if: geteuid() == 0, "only root can make a file of root"), arguments: [(0o440, true), (0o460, false)])
    func onlyTheModeOfSystemdIsAllowed(mode: mode_t, isAllowed: Bool) throws {
        let directory = try Directory("x", "secret", mode: mode)
        #expect(problems("credential:x", directory.path).isEmpty == isAllowed)
        try #require(chown("\(directory.path)/x", 0, 1) == 0)
        #expect(!problems("credential:x", directory.path).isEmpty)
    }
}
