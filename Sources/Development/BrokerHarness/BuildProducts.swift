import Foundation

/// The programs that were built together with this one.
package enum BuildProducts {
    package struct Missing: Error, Equatable, CustomStringConvertible {
        let path: String
        package var description: String { "there is no \(path): build the package first (swift build --build-tests)" }
    }

    /// The path of a program.
    /// - Parameter directory: Where it lies; by default beside this program.
    package static func path(of program: String, in directory: String? = nil) throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = "\(directory ?? URL(filePath: own).deletingLastPathComponent().path)/\(program)"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(path: path) }
        return path
    }
}
