import Foundation
import NativeSSOClient
import Synchronization

/// A new phone, as far as apps share something on it. Its keychains last as long as this value: their key is nowhere else.
final class Device: Sendable {
    /// How far its clock is ahead of the servers', in seconds.
    let clockAhead = Atomic<Int64>(0)
    let shared: EncryptedFileKeychain
    let directory: String
    private let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }

    /// - Parameter directory: What an earlier phone left in it is removed.
    init(directory: String) throws {
        self.directory = directory
        if FileManager.default.fileExists(atPath: directory) { try FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        shared = try EncryptedFileKeychain(path: "\(directory)/shared", key: key)
    }

    func keychain(of app: SampleApp) throws -> EncryptedFileKeychain {
        try EncryptedFileKeychain(path: "\(directory)/\(app.clientID)", key: key)
    }
}
