import Foundation
import StrictCoding
import Testing

/// A JSON file of `Vectors/`.
struct VectorFile {
    private let name: String

    init(_ name: String) { self.name = name }

    var root: JSONObject {
        get throws {
            let url = try #require(
                Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
            let limits = JSONLimits(members: 10_000, elements: 10_000)
            return try #require(try JSONReader.parse([UInt8](Data(contentsOf: url)), limits: limits).object)
        }
    }

    /// The elements of the array `name`; never none.
    func objects(_ name: String) throws -> [JSONObject] {
        let objects = try #require(try root.array(name)).compactMap(\.object)
        try #require(!objects.isEmpty)
        return objects
    }
}
