import Foundation

/// The programs that were built together with these tests.
public enum BuildProducts {
    public struct Missing: Error, CustomStringConvertible {
        let path: String
        public var description: String { "\(path) is not built: swift build --build-tests makes it" }
    }

    /// The path of a program: test bundle and programs lie in one directory.
    public static func path(of program: String) throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(filePath: own).deletingLastPathComponent().appending(path: program).path
        guard FileManager.default.isExecutableFile(atPath: path) else { throw Missing(path: path) }
        return path
    }
}
