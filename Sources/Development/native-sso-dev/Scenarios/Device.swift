import ChildProcesses
import Foundation
import NativeSSOClient

/// A phone, as far as apps share something on it.
struct Device: Sendable {
    let shared: any Keychain
    let directory: String

    init(directory: String) throws {
        self.directory = directory
        shared = try FileKeychain(directory: "\(directory)/shared")
    }

    func keychain(of app: SampleApp) throws -> any Keychain {
        try FileKeychain(directory: "\(directory)/\(app.clientID)")
    }
}

/// A keychain of files, for a machine that has none: one directory is one access group.
struct FileKeychain: Keychain {
    let directory: String

    init(directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func item(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map { Array($0) }
    }

    func setItem(_ name: String, _ value: [UInt8]) throws {
        let new = path(name) + ".new"
        try? FileManager.default.removeItem(atPath: new)
        let file = try FileHandle(appendingTo: new)  // 0600 from the first moment
        try file.write(contentsOf: Data(value))
        try file.close()
        // At once: an app that is killed in between finds the old item or the new one.
        guard rename(new, path(name)) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    func removeItem(_ name: String) throws {
        guard FileManager.default.fileExists(atPath: path(name)) else { return }
        try FileManager.default.removeItem(atPath: path(name))
    }

    private func path(_ name: String) -> String { "\(directory)/\(name)" }
}
