import Foundation

/// The checkout that these tests were built from.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The files below `folder` whose names end in `suffix`, in the order of their paths.
    static func files(below folder: String, suffix: String) throws -> [RepositoryFile] {
        let urls = try urls(below: folder).filter { $0.path.hasSuffix(suffix) }
        guard !urls.isEmpty else { throw Missing(path: folder) }
        return try urls.map(RepositoryFile.init).sorted { $0.path < $1.path }
    }

    /// Everything below `folder` that is no folder.
    static func urls(below folder: String) throws -> [URL] {
        let top = root.appending(path: folder)
        let entries = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil)
        let urls = (entries?.allObjects ?? []).compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath }
        guard !urls.isEmpty else { throw Missing(path: top.path) }
        return urls
    }

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    struct Missing: Error {
        let path: String
    }
}

/// One text file of the checkout.
struct RepositoryFile: Sendable {
    /// From the root: `Sources/Broker/JOSE/CompactJWS.swift`.
    let path: String
    let lines: [Substring]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    init(_ url: URL) throws {
        let full = url.standardizedFileURL.path
        self.init(
            path: String(full.dropFirst(Repository.root.standardizedFileURL.path.count).drop { $0 == "/" }),
            text: try String(contentsOf: url, encoding: .utf8))
    }

    /// The target that a source belongs to, or a test.
    var target: String { path.split(separator: "/").dropFirst(2).first.map(String.init) ?? "" }
}
