import Foundation
import JOSE
import StrictCoding
import Testing

/// A file of test vectors.
enum VectorFile {
    static let limits = JSONLimits(depth: 16, members: 100_000, elements: 100_000)

    /// A file beside these tests.
    static func own(_ name: String) throws -> JSONValue {
        let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
        return try JSONReader.parse(Array(try Data(contentsOf: url)), limits: limits)
    }

    /// The directory of the Wycheproof vectors, which are too large to keep here.
    static let wycheproofDirectory: String? = {
        let directory = ProcessInfo.processInfo.environment["WYCHEPROOF_VECTORS"]
        if directory == nil {
            FileHandle.standardError.write(Data("WYCHEPROOF_VECTORS is not set: its tests are skipped\n".utf8))
        }
        return directory
    }()

    static func wycheproof(_ name: String) throws -> JSONObject {
        let directory = try #require(wycheproofDirectory)
        let bytes = try Data(contentsOf: URL(filePath: directory).appending(path: name))
        return try #require(try JSONReader.parse(Array(bytes), limits: limits).object)
    }
}

extension JSONObject {
    /// The object in a JSON text.
    init(_ text: String) throws {
        self = try #require(try JSONReader.parse(Array(text.utf8)).object)
    }
}
