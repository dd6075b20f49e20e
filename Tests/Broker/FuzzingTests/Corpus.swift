import Foundation

/// The inputs that every run begins with: small, made by hand or from the vectors of the other tests.
enum Corpus {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzzing")

    static func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    static func seeds(of target: FuzzTarget) throws -> [(name: String, octets: [UInt8])] {
        try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: target.rawValue), includingPropertiesForKeys: nil
        )
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
        .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }
}
