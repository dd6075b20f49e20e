import Foundation
import PrivateCluster
import Testing

@Suite("Statements", .serialized)
struct StatementTests {
    /// A renamed column fails here, not in production.
    @Test("Each statement in the sources can be prepared on the migrated schema")
    func prepares() async throws {
        let texts = try Self.texts()
        #expect(texts.count > 100)
        let script = texts.enumerated().map { "PREPARE s\($0.offset) AS \($0.element)\n;\n" }.joined()
        try await TestDatabase.withFixture { database in
            _ = try await database.cluster.psql(script, database: database.name)
        }
    }

    /// The SQL of all calls of `Statement.init` and `Gathering.init`.
    private static func texts() throws -> [String] {
        let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/Broker/Registry").standardizedFileURL
        let call = /\b(?:Statement|Gathering)\(/
        let literal = /\s*"(?:""(?<block>[^"]*(?:"[^"]+)*)""|(?<line>[^"\n]*))"/
        var texts: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
            let source = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            for found in source.matches(of: call) {
                let text = try #require(source[found.range.upperBound...].prefixMatch(of: literal), "\(path)")
                texts.append(String(text.block ?? text.line ?? ""))
            }
        }
        return texts
    }
}
