import Foundation
import Migrations
import Testing

@Suite struct EmbeddedMigrationTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Migrations")

    @Test func listIsTheDirectory() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
            .filter { $0.hasSuffix(".sql") && $0 != "schema.sql" }.sorted()
        #expect(Migrations.all.map(\.file) == files, "Migrations.swift and Package.swift list every file")
        for migration in Migrations.all {
            let octets = try Data(contentsOf: Self.directory.appending(path: migration.file))
            #expect(Array(octets) == migration.sql, "\(migration.file)")
        }
    }

    @Test func versionsCountFromOneWithoutGap() {
        #expect(Migrations.all.map(\.version) == Array(1...Migrations.all.count))
    }
}
