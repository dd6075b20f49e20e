public import NativeSSO
public import PostgresClient

/// Sessions that begin by enrolment, in PostgreSQL.
///
/// Over the pool, not over the lanes: it is rare, it waits for whoever enrols or ends the same login, and no exchange should
/// wait with it. Few at a time, so that a flood of them leaves connections to the pool's other users.
public struct PostgresEnrolmentRegistry: EnrolmentRegistry {
    private let database: any StatementExecutor
    private let turnstile: Turnstile

    /// - Parameters:
    ///   - atOnce: How many at one time.
    ///   - waiting: How many more may wait; whoever comes then is told to come again.
    ///   - patience: Whoever has waited for so long is told so, too.
    public init(
        database: any StatementExecutor, atOnce: Int = 1, waiting: Int = 64, patience: Duration = .seconds(1)
    ) {
        self.database = database
        turnstile = Turnstile(width: atOnce, queue: waiting, patience: patience)
    }

    public func enrol(_ entry: EnrolmentEntry) async throws(PortError) -> EnrolmentFacts {
        let parameters = try EnrolStatement.parameters(entry)
        guard await turnstile.enter() else {
            throw .outage(Outage(.database, "too many enrolments at once"))
        }
        defer { turnstile.leave() }
        return try await database.one(EnrolStatement.statement, parameters, of: "enrol", EnrolStatement.facts)
    }
}
