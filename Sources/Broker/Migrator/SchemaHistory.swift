import Crypto
import Migrations
package import PostgresClient

/// An applied file: a row of `native_sso.schema_migration`. A repeatable file has a row for each version of its text.
package struct AppliedMigration: Sendable, Equatable {
    /// `nil` for a repeatable file.
    package let version: Int?
    package let name: String
    /// SHA-256 of the file when it was applied.
    package let digest: [UInt8]
    package let appliedAt: PostgresTimestamp
    /// The database role that applied it.
    package let appliedBy: String
}

/// The files applied to a database, compared with the files that this program knows.
struct SchemaHistory {
    /// In order of application.
    let applied: [AppliedMigration]

    static let statement = Statement(
        "SELECT version, name, sha256, applied_at, applied_by FROM native_sso.schema_migration ORDER BY ordinal")

    init(_ rows: [Row]) throws(PostgresError) {
        applied = try rows.map { row throws(PostgresError) in
            AppliedMigration(
                version: try row.optionalInt32(0).map { Int($0) }, name: try row.text(1), digest: try row.bytes(2),
                appliedAt: try row.timestamp(3), appliedBy: try row.text(4))
        }
    }

    /// The pending files, in order. Throws if the applied files do not match the known ones.
    func pending(of known: [Migration]) throws(MigratorError) -> [Migration] {
        let version = applied.compactMap(\.version).max() ?? 0
        let latest = known.compactMap(\.version).max() ?? 0
        if let later = applied.first(where: { $0.version ?? 0 > latest }) { throw .databaseIsNewer(file: later.file) }
        var pending: [Migration] = []
        for migration in known {
            let texts = applied.filter {
                $0.version == migration.version
                    && (migration.version != nil || $0.name.utf8.elementsEqual(migration.name.utf8))
            }
            if let number = migration.version {
                if number > version {
                    pending.append(migration)
                } else if texts.isEmpty {
                    throw .gap(file: migration.file, database: version)
                } else if texts.last?.digest != migration.digest
                    || texts.last?.name.utf8.elementsEqual(migration.name.utf8) == false
                {
                    throw .changed(file: migration.file)
                }
            } else if texts.last?.digest != migration.digest {
                // The database has replaced this text with a newer one, so this program is the older release.
                guard !texts.contains(where: { $0.digest == migration.digest }) else {
                    throw .databaseIsNewer(file: migration.file)
                }
                pending.append(migration)
            }
        }
        return pending
    }

    /// Throws if a release lies between the one that brokers use with this database and the one that brings the last of
    /// the files: their brokers cannot serve beside its schema.
    func refuseSkip(by pending: [Migration]) throws(MigratorError) {
        // The repeatable files come last, so no broker has used a database without one.
        guard applied.contains(where: { $0.version == nil }) else { return }
        let releases = pending.compactMap(\.release)
        guard let first = releases.first, let last = releases.last, first != last else { return }
        throw .skipsRelease(first, last: last)
    }
}

extension AppliedMigration {
    var file: String {
        guard let version else { return name + ".sql" }
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_\(name).sql"
    }
}

extension Migration {
    var digest: [UInt8] { Array(SHA256.hash(data: sql)) }
}
