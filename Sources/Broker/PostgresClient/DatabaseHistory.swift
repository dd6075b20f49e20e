import Synchronization

/// Notices that the database is from an earlier moment than one that the broker has seen: a restored backup, or a
/// promoted standby that lost writes.
///
/// The broker counts in a row of the database, and remembers the last number whose commit was confirmed. A database with a
/// lower number, or without the row, has lost writes, and no connection to it is used. An operator may accept it; then the
/// broker counts on from what it finds. What was lost since the last count is not noticed.
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
    private let broker: [UInt8]
    private let state: Mutex<State>

    /// - Parameters:
    ///   - look: $1 is the broker's id. Three columns: its number, or NULL; the newest acceptance, and the start of the
    ///     server, both in microseconds since 1970.
    ///   - broker: The broker's id, 16 octets.
    package init(look: Statement, broker: [UInt8], memory: Memory = Memory()) {
        self.look = look
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
            // A database without the schema: a new one, or a lost one.
            guard code.isMissingSchema else { throw .server(code, message: message, constraint: constraint) }
            return known.number == 0
        }
        let (number, acceptance) = (try row.optionalInt64(0) ?? 0, try row.int64(1))
        let server = try row.int64(2)
        guard number >= known.number || acceptance > known.acceptance else { return false }
        connection.began(
            state.withLock { state in
                if number < known.number, acceptance > state.memory.acceptance {
                    state.memory.number = number
                    state.acceptances += 1
                }
                state.memory.acceptance = max(state.memory.acceptance, acceptance)
                if state.server != server {
                    state.server = server
                    state.servers += 1
                }
                return state.servers
            }, in: self)
        return true
    }

    /// What the next count builds on. Pass both to ``confirm(_:after:)``.
    package var memory: (Memory, acceptances: Int) { state.withLock { ($0.memory, $0.acceptances) } }

    /// Remembers a number whose commit the database has confirmed.
    /// - Parameter acceptances: As ``memory`` gave it before the count. A count on a database that was replaced since says
    ///   nothing of this one.
    /// - Returns: What the broker remembers now.
    package func confirm(_ number: Int64, after acceptances: Int) -> Memory {
        state.withLock { state in
            if state.acceptances == acceptances { state.memory.number = max(state.memory.number, number) }
            return state.memory
        }
    }

    /// The count failed, because the database lacks what the broker knows: every connection is judged anew.
    package func distrust() {
        state.withLock {
            $0.server = nil
            $0.servers += 1
        }
    }

    /// Whether the broker has since connected to another server, which may have decisions that this one lacks.
    func hasLeft(_ server: Int) -> Bool { state.withLock { $0.servers != server } }
}
