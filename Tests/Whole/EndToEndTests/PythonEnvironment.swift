import Foundation

/// A virtual environment of Python below `.build/python`, which `deploy/packages --tests` makes from the pinned packages of
/// `Python/NAME.txt`.
enum PythonEnvironment: String {
    /// The client libraries, the JWT libraries and Canaille.
    case interoperability
    case mitmproxy, schemathesis

    /// Whether it is there, with the packages of today's list.
    var isMade: Bool {
        guard let wanted = try? Data(contentsOf: Self.scripts.appending(path: "\(rawValue).txt")) else { return false }
        return wanted == (try? Data(contentsOf: folder.appending(path: "made-from.txt")))
    }

    func program(_ name: String) -> String { folder.appending(path: "bin/\(name)").path }

    /// The lists of packages, and the programs of the tests.
    static let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Python")

    private var folder: URL {
        Self.scripts.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: ".build/python/\(rawValue)")
    }
}
