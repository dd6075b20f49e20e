public import PostgresClient

/// Why the schema was not brought, or is not, up to date. Each says what to do.
public enum MigratorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A file that was applied has other contents now.
    case changed(file: String)
    /// The database holds a later step, but not this one.
    case gap(file: String, database: Int)
    /// The database was migrated by a newer release.
    case databaseIsNewer(database: Int, binary: Int)
    /// Steps are still to be applied.
    case pending(database: Int, binary: Int)
    /// Another migrator held the lock for as long as this one waited.
    case anotherIsAtWork
    /// A file failed; nothing of it was kept. The files before it stay applied.
    case failed(file: String, PostgresError)
    /// The database could not be asked, or its answer did not arrive.
    case database(PostgresError)

    public var description: String {
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
        case .databaseIsNewer(let database, let binary):
            """
            The database is at version \(database), this program knows versions up to \(binary). Run the newer release.
            """
        case .pending(let database, let binary):
            "The database is at version \(database), this program needs version \(binary). Run `native-sso migrate up`."
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
        case .unavailable(let reason), .outcomeUnknown(let reason): reason.rawValue
        case .server(let state, let message, _): "\(state) \(message)"
        case .unexpectedResult(let column): "unexpected answer in column \(column)"
        }
    }
}
