package import Foundation

/// A virtual environment of Python below `.build/python`, which `deploy/packages --tests` makes from the pinned packages of
/// `Python/NAME.txt`.
package enum PythonEnvironment: String {
    /// The client libraries, the JWT libraries and Canaille.
    case interoperability
    case mitmproxy, schemathesis

    /// Whether it is there, with the packages of today's list.
    package var isMade: Bool {
        guard let wanted = try? Data(contentsOf: Self.scripts.appending(path: "\(rawValue).txt")) else { return false }
        return wanted == (try? Data(contentsOf: folder.appending(path: "made-from.txt")))
    }

    package func program(_ name: String) -> String { folder.appending(path: "bin/\(name)").path }

    /// The lists of packages, and the programs of the tests.
    package static let scripts = Checkout.root.appending(path: "Tests/Whole/EndToEndTests/Python")

    private var folder: URL { Checkout.unpacked("python/\(rawValue)") }
}
