import Foundation
import Testing

@testable import native_sso_dev

@Suite final class FileKeychainTests {
    private let directory = NSTemporaryDirectory() + "keychain-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func itemsSurviveAndCanBeReplacedAndRemoved() throws {
        let keychain = try FileKeychain(directory: directory)
        #expect(keychain.item("a") == nil)
        try keychain.removeItem("a")
        try keychain.setItem("a", [1, 2, 3])
        try keychain.setItem("a", [4])
        #expect(try FileKeychain(directory: directory).item("a") == [4])
        try keychain.removeItem("a")
        #expect(keychain.item("a") == nil)
    }

    @Test func onlyTheOwnerMayRead() throws {
        let keychain = try FileKeychain(directory: directory)
        try keychain.setItem("a", [1])
        let mode = { (path: String) in
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(directory) == 0o700)
        #expect(try mode(directory + "/a") == 0o600)
    }
}
