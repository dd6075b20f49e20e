import Synchronization

/// Notices that the database is from an earlier moment than one that the broker has seen: a restored backup, or a
/// promoted standby that lost writes.
///
/// The broker counts in a row of the database, and remembers the last number whose commit was confirmed. A database with a
/// lower number, or without the row, has lost writes, and no connection to it is used. An operator may accept it; then the
/// broker counts on from what it finds. What was lost since the last count is not noticed.
///
/// The first connection to another server than before counts before it is used. So of two servers that both take writes, such as a
/// primary that was cut off and its promoted standby, the broker goes on with one.
package final class DatabaseHistory: Sendable {
    /// What the broker remembers.
    package struct Memory: Sendable, Equatable {
        /// The last number that is known to be committed; 0: none yet.
        package var number: Int64
        /// The newest acceptance by an operator that the broker has seen, in microseconds since 1970; 0: none.
        package var acceptance: Int64

        package init(number: Int64 = 0, acceptance: Int64 = 0) {
            self.number = number
            self.acceptance = acceptance
        }
    }

    private struct State {
        var memory: Memory
        /// Grows when an operator's acceptance makes the broker count on from a lower number.
        var acceptances = 0
        /// When the server of the last connection was started, in microseconds since 1970.
        var server: Int64?
        /// Grows when another server is met: the connections to the one before are not used any more.
        var servers = 0
    }

    private let look: Statement
    private let counting: Statement
    private let broker: [UInt8]
    private let state: Mutex<State>

    /// - Parameters:
    ///   - look: $1 is the broker's id. Three columns: its number, or NULL; the newest acceptance, and the start of the
    ///     server, both in microseconds since 1970.
    ///   - counting: $1 is the broker's id, $2 the number that it knows, $3 whether it can answer requests. The new number;
    ///     NULL: the database lacks $2.
    ///   - broker: The broker's id, 16 octets.
    package init(look: Statement, counting: Statement, broker: [UInt8], memory: Memory = Memory()) {
        self.look = look
        self.counting = counting
        self.broker = broker
        state = Mutex(State(memory: memory))
    }

    /// Looks at the database of a new connection. False if it lacks what the broker knew at the start of the call. What
    /// others learn meanwhile does not count, because answers may overtake each other.
    func accepts(_ connection: Connection, deadline: MonotonicTime) throws(PostgresError) -> Bool {
        let known = state.withLock { $0.memory }
        let row: Row
        do throws(PostgresError) {
            guard let found = try connection.execute(look, [.uuid(broker)], deadline: deadline).first else {
                throw .unexpectedResult(column: 0)
            }
            row = found
        } catch .server(let code, let message, let constraint) {
            // A database without the schema, or whose schema the role may not use: a new one, or a lost one.
            guard code.isMissingSchema || code.code == "42501" else {
                throw .server(code, message: message, constraint: constraint)
            }
            return known.number == 0
        }
        let (number, acceptance) = (try row.optionalInt64(0) ?? 0, try row.int64(1))
        let server = try row.int64(2)
        // A database without the acceptance is the one that was given up.
        guard acceptance > known.acceptance || acceptance == known.acceptance && number >= known.number else {
            return false
        }
        let isOther = state.withLock { state in
            if number < known.number, acceptance > state.memory.acceptance {
                state.memory.number = number
                state.acceptances += 1
            }
            state.memory.acceptance = max(state.memory.acceptance, acceptance)
            return state.server.map { $0 != server } ?? false
        }
        if isOther {
            let (parameters, acceptances) = next
            let row = try connection.execute(counting, parameters + [.bool(false)], deadline: deadline).first
            guard let number = try row?.optionalInt64(0) else { return false }
            confirm(number, after: acceptances)
        }
        connection.began(
            state.withLock { state in
                if state.server != server {
                    state.server = server
                    state.servers += 1
                }
                return state.servers
            }, in: self)
        return true
    }

    /// Counts.
    /// - Parameter serves: Whether the broker can answer requests.
    /// - Returns: What the broker remembers now; `nil`: the database lacks what it knew, and each connection is judged
    ///   anew.
    package func count(
        in database: any StatementExecutor, serves: Bool
    ) async throws(PostgresError) -> Memory? {
        let (parameters, acceptances) = next
        if let number = try await database.query(counting, parameters + [.bool(serves)]).first?.optionalInt64(0) {
            return confirm(number, after: acceptances)
        }
        state.withLock {
            $0.server = nil
            $0.servers += 1
        }
        return nil
    }

    package var memory: Memory { state.withLock { $0.memory } }

    /// What the next count builds on.
    private var next: (parameters: [PostgresValue], acceptances: Int) {
        state.withLock { ([.uuid(broker), .int64($0.memory.number)], $0.acceptances) }
    }

    /// Remembers a number whose commit the database has confirmed.
    /// - Parameter acceptances: As before the count. A count on a database that was replaced since says nothing of this one.
    @discardableResult
    private func confirm(_ number: Int64, after acceptances: Int) -> Memory {
        state.withLock { state in
            if state.acceptances == acceptances { state.memory.number = max(state.memory.number, number) }
            return state.memory
        }
    }

    /// Whether the broker has since connected to another server, which may have decisions that this one lacks.
    func hasLeft(_ server: Int) -> Bool { state.withLock { $0.servers != server } }
}
