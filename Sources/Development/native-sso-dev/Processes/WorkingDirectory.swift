import Foundation

/// The directory that everything lies in. Unless it is to be kept it is removed when this process ends, however it ends.
struct WorkingDirectory: Sendable {
    let path: String
    private let sweeper: Shell?

    // What others still write while they are being ended is swept in the next round.
    private static let script = """
        trap '' INT TERM
        read -r _
        while [ -e "$1" ]; do rm -rf "$1" || sleep 0.1; done
        """

    /// - Parameter path: Must not exist, or be empty: nothing that was there before is ever removed. nil makes a directory in
    ///   the temporary one.
    init(_ path: String?, isKept: Bool) throws {
        let files = FileManager.default
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let chosen = path ?? "\(files.temporaryDirectory.path)/native-sso-dev-\(random)"
        // A relative path would mean another place to a program that changes its directory.
        self.path = URL(filePath: chosen).standardizedFileURL.path
        if let present = try? files.contentsOfDirectory(atPath: self.path), !present.isEmpty {
            throw WorkingDirectoryError.notEmpty(self.path)
        }
        // PostgreSQL runs under another account when this runs as root, and has to get through to its own directory.
        try files.createDirectory(
            atPath: self.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        sweeper = isKept ? nil : try Shell(Self.script, name: "sweeper", arguments: [self.path])
    }

    /// A directory below this one that only this user sees.
    func subdirectory(_ name: String) throws -> String {
        let path = "\(self.path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
    }

    /// Removes the directory, unless it is to be kept. Tries for a minute.
    func remove() async {
        _ = await sweeper?.end(within: .seconds(60))
    }
}

enum WorkingDirectoryError: Error, CustomStringConvertible {
    case notEmpty(String)

    var description: String {
        switch self {
        case .notEmpty(let path): "\(path) holds something already: name an empty directory, or one that does not exist"
        }
    }
}
