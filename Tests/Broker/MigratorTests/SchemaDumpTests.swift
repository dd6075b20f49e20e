import Foundation
import Migrations
import Migrator
import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct SchemaDumpTests {
    /// `schema.sql` shows the result of all migrations.
    @Test func schemaFileIsWhatTheMigrationsMake() async throws {
        let cluster = try await PrivateCluster.shared
        let dump = try await cluster.withDatabase { database in
            _ = try await Migrator(cluster.configuration(database: database)).up()
            return try await cluster.run(
                "pg_dump",
                [
                    "--schema-only", "--exclude-table=native_sso.audit_event_p*",
                    cluster.connectionURI(database: database),
                ])
        }
        let file = EmbeddedMigrationTests.directory.appending(path: "schema.sql")
        let fresh = Self.stable(dump)
        if ProcessInfo.processInfo.environment["UPDATE_SCHEMA"] == "1" {
            try fresh.write(to: file, atomically: true, encoding: .utf8)
        }
        let kept = try String(contentsOf: file, encoding: .utf8)
        if kept != fresh {
            let line = zip(kept.split(separator: "\n"), fresh.split(separator: "\n")).first { $0 != $1 }
            Issue.record(
                """
                Migrations/schema.sql differs from a fresh dump\(line.map { ", first in: \($0.1)" } ?? " in length").
                If the migrations are right: UPDATE_SCHEMA=1 swift test --filter SchemaDumpTests
                """)
        }
    }

    /// The CREATE statements without pg_dump's banners, settings and owners. One role owns everything.
    private static func stable(_ dump: String) -> String {
        let noise = ["--", "SET ", "SELECT pg_catalog.set_config(", "\\restrict ", "\\unrestrict "]
        var lines: [Substring] = []
        for line in dump.split(separator: "\n", omittingEmptySubsequences: false) {
            if noise.contains(where: { line.hasPrefix($0) }) || line.contains(" OWNER TO native_sso_admin;")
                || line.isEmpty && lines.last?.isEmpty != false
            {
                continue
            }
            lines.append(line)
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension PrivateCluster {
    nonisolated func configuration(database: String) throws -> PostgresConfiguration {
        try PostgresConfiguration(uri: connectionURI(database: database), password: PostgresPassword(password))
    }
}

@Suite struct EmbeddedMigrationTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
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
