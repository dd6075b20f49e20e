package import PostgresClient

/// Why a migration or a check of the schema failed. Each description says what to do.
package enum MigratorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The content of an applied numbered file has changed.
    case changed(file: String)
    /// The database has a later migration, but not this one.
    case gap(file: String, database: Int)
    /// A newer release migrated the database: it applied this file, or a later version of it.
    case databaseIsNewer(file: String)
    case pending(files: [String])
    /// The database is more than one release behind: it lacks this one too.
    case skipsRelease(String, last: String)
    /// The schema `native_sso` holds something that these migrations did not make.
    case foreignSchema
    case noSuchVersion(Int, last: Int)
    /// Another migrator held the lock for the whole waiting time.
    case anotherIsAtWork
    /// A file failed and was rolled back. The files before it stay applied.
    case failed(file: String, PostgresError)
    /// The database was unreachable, or its answer did not arrive.
    case database(PostgresError)

    package var description: String {
        switch self {
        case .changed(let file):
            """
            Migration \(file) was changed after it was applied to this database. Restore the file as it was released; \
            a change of the schema is a new file.
            """
        case .gap(let file, let database):
            """
            The database is at version \(database), but migration \(file) was never applied to it. It was not made by \
            these migrations: restore it from a backup, or migrate a new one.
            """
        case .databaseIsNewer(let file):
            "The database holds a later \(file) than this program knows. Run the newer release."
        case .pending(let files):
            "Not applied to the database yet: \(files.prefix(3).joined(separator: ", "))"
                + (files.count > 3 ? " and \(files.count - 3) more" : "") + ". Run `native-sso migrate up`."
        case .skipsRelease(let release, let last):
            """
            The database lacks the schema of release \(release), and this program is release \(last). Brokers serve only \
            beside the schema of their own release and of the next. Install release \(release), run its \
            `native-sso migrate up`, restart every broker with it, and then run this again.
            """
        case .foreignSchema:
            """
            This database has a schema native_sso that these migrations did not make, or that belongs to another role. \
            Nothing was changed. Name another database, or rename that schema if it is no longer needed.
            """
        case .noSuchVersion(let version, let last):
            "There is no migration \(version): --to takes a number from 1 to \(last)."
        case .anotherIsAtWork:
            "Another migrator is at work on this database. Wait for it to end, then run this again."
        case .failed(let file, .outcomeUnknown(let reason)):
            """
            The answer to migration \(file) did not arrive (\(reason.rawValue)). It was applied whole or not at all: \
            run this again to go on from there.
            """
        case .failed(let file, let error):
            "Migration \(file) failed and was rolled back: \(Self.sentence(error))"
        case .database(let error):
            "The database did not answer: \(Self.sentence(error))"
        }
    }

    private static func sentence(_ error: PostgresError) -> String {
        switch error {
        case .unavailable(.transactionPooling): PostgresError.Reason.transactionPoolingRemedy
        case .unavailable(let reason), .outcomeUnknown(let reason): reason.rawValue
        case .server(let state, let message, _): "\(state) \(message)"
        case .unexpectedResult(let column): "unexpected answer in column \(column)"
        }
    }
}
