import Foundation
import Migrations
import Testing

@Suite struct EmbeddedMigrationTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Migrations")

    @Test func listIsTheDirectory() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
            .filter { $0.hasSuffix(".sql") && $0 != "schema.sql" }.sorted()
        #expect(Migrations.all.map(\.file) == files)
        for migration in Migrations.all {
            let octets = try Data(contentsOf: Self.directory.appending(path: migration.file))
            #expect(Array(octets) == migration.sql, "\(migration.file)")
        }
    }

    @Test func versionsCountFromOneWithoutGapAndComeFirst() {
        let versions = Migrations.all.compactMap(\.version)
        #expect(versions == Array(1...versions.count))
        #expect(Migrations.all.prefix(versions.count).allSatisfy { $0.version != nil })
    }
}
