import Crypto
import Migrations
public import PostgresClient

/// One step that a database has behind it: a row of `native_sso.schema_migration`.
public struct AppliedMigration: Sendable, Equatable {
    public let version: Int
    public let name: String
    /// SHA-256 of the file as it was applied.
    public let digest: [UInt8]
    public let appliedAt: PostgresTimestamp
    /// The role that applied it.
    public let appliedBy: String
}

/// The steps that a database has behind it, held against the steps that a program knows.
struct SchemaHistory {
    let applied: [AppliedMigration]

    static let statement = Statement(
        "SELECT version, name, sha256, applied_at, applied_by FROM native_sso.schema_migration ORDER BY version")

    init(_ rows: [Row]) throws(PostgresError) {
        var applied: [AppliedMigration] = []
        for row in rows {
            applied.append(
                AppliedMigration(
                    version: Int(try row.int32(0)), name: try row.text(1), digest: try row.bytes(2),
                    appliedAt: try row.timestamp(3), appliedBy: try row.text(4)))
        }
        self.applied = applied
    }

    /// The highest version; 0 for a database without any.
    var version: Int { applied.last?.version ?? 0 }

    /// The steps that are still to be applied. Refuses a history that is not a beginning of `known`.
    func pending(of known: [Migration]) throws(MigratorError) -> [Migration] {
        let latest = known.last?.version ?? 0
        guard version <= latest else { throw .databaseIsNewer(database: version, binary: latest) }
        var rest = applied[...]
        for migration in known where migration.version <= version {
            guard let next = rest.first, next.version == migration.version else {
                throw .gap(file: migration.file, database: version)
            }
            guard next.name.utf8.elementsEqual(migration.name.utf8), next.digest == migration.digest else {
                throw .changed(file: migration.file)
            }
            rest = rest.dropFirst()
        }
        return known.filter { $0.version > version }
    }
}

extension Migration {
    /// SHA-256 of the file.
    var digest: [UInt8] { Array(SHA256.hash(data: sql)) }
}
