import Migrations
import Migrator
import NativeSSO
import PostgresClient
import PrivateCluster
import Synchronization
import Testing

@testable import Registry

@Suite("Migrations under live traffic", .serialized, .timeLimit(.minutes(2)))
struct MigrationTrafficTests {
    /// A next release: a numbered file that alters a table in use, and a new text of a function that refreshes call.
    private static let next: [Migration] = {
        let number = (Migrations.all.compactMap(\.version).max() ?? 0) + 1
        let digits = String(number)
        let file = Migration(
            file: String(repeating: "0", count: 4 - digits.count) + digits + "_add_note.sql",
            sql: Array(
                """
                -- Release: 0.2
                -- Locks: session, short
                SET LOCAL ROLE native_sso_admin;
                ALTER TABLE native_sso.session ADD COLUMN note text;
                """.utf8))
        let changed = Migrations.all.filter { $0.version == nil }.map {
            Migration(file: $0.file, sql: $0.sql + Array("-- Another text.\n".utf8))
        }
        return Migrations.all.filter { $0.version != nil } + [file] + changed
    }()

    @Test("No refresh is refused, lost or outlived while a migration changes its tables and functions")
    func refreshesGoOn() async throws {
        try await TestDatabase.withWorld { database, world in
            let configuration = try TestDatabase.configuration(
                database.cluster, database: database.name, user: PrivateCluster.superuser)
            let migrator = Migrator(configuration, migrations: Self.next)
            #expect(try await migrator.plan().count == Self.next.count - (Migrations.all.compactMap(\.version).count))
            let isDone = Atomic(false)
            async let applied = {
                defer { isDone.store(true, ordering: .releasing) }
                return try await migrator.up()
            }()
            var generation: Int32 = 1
            var after = 0
            // Some more after the last file: connections must not hold on to what was replaced.
            while after < 20 {
                if isDone.load(ordering: .acquiring) { after += 1 }
                let facts = try await database.registry.rotate(world.rotation(generation: generation))
                #expect(facts.effect == .advanced)
                generation += 1
            }
            #expect(try await applied.count > 1)
            #expect(try await migrator.drift() == [])
        }
    }
}
