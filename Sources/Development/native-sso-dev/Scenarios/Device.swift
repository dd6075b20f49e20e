import Foundation
import NativeSSOClient

/// A phone, as far as apps share something on it. Its keychains last as long as this value: their key is nowhere else.
struct Device: Sendable {
    let shared: EncryptedFileKeychain
    let directory: String
    private let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }

    init(directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        shared = try EncryptedFileKeychain(path: "\(directory)/shared", key: key)
    }

    func keychain(of app: SampleApp) throws -> EncryptedFileKeychain {
        try EncryptedFileKeychain(path: "\(directory)/\(app.clientID)", key: key)
    }
}
