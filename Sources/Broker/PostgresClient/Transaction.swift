/// A transaction for a closure that cannot suspend or keep it.
package struct Transaction: ~Copyable {
    let connection: Connection
    let deadline: MonotonicTime

    /// Runs one statement. After an error the transaction refuses further statements and rolls back.
    package borrowing func query(
        _ statement: Statement, _ parameters: [PostgresValue] = []
    ) throws(PostgresError) -> [Row] {
        try query(statement, EncodedParameters(parameters))
    }

    /// The same with encoded parameters.
    package borrowing func query(
        _ statement: Statement, _ parameters: EncodedParameters
    ) throws(PostgresError) -> [Row] {
        do throws(PostgresError) {
            return try connection.execute(statement, try parameters.checked(), deadline: deadline)
        } catch .outcomeUnknown(let reason) where reason != .committedLocallyOnly {
            throw .unavailable(reason)  // COMMIT was not sent, so the server rolls back
        }
    }

    /// Runs a constant script of several commands, such as a migration. Never pass external text: scripts have no
    /// parameters. The script must not end the transaction.
    package borrowing func executeScript(_ octets: [UInt8]) throws(PostgresError) {
        guard !octets.contains(0), let script = String(validating: octets, as: UTF8.self) else {
            throw .server(SQLState("22021"), message: "the script is not UTF-8 text", constraint: nil)
        }
        do throws(PostgresError) {
            try connection.run(script, deadline: deadline)
        } catch .outcomeUnknown(let reason) where reason != .committedLocallyOnly {
            throw .unavailable(reason)
        }
        guard connection.isInHealthyTransaction else {
            connection.retire()
            throw .server(SQLState("2D000"), message: "the script ended the transaction", constraint: nil)
        }
    }
}

extension Connection {
    func transaction<Value>(
        deadline: MonotonicTime, timeout: Duration, _ body: (borrowing Transaction) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        do throws(PostgresError) {
            try run("BEGIN; SET LOCAL statement_timeout = \(timeout.wholeMilliseconds)", deadline: deadline)
        } catch .outcomeUnknown(let reason) {
            throw .unavailable(reason)
        }
        let value: Value
        do throws(PostgresError) {
            value = try body(Transaction(connection: self, deadline: deadline))
            guard isInHealthyTransaction else {
                throw .server(SQLState("25P02"), message: "a statement of the transaction failed", constraint: nil)
            }
        } catch {
            rollBack()
            throw error
        }
        try commit(deadline)
        return value
    }

    private func commit(_ deadline: MonotonicTime) throws(PostgresError) {
        let tag: String
        do throws(PostgresError) {
            tag = try run("COMMIT", deadline: deadline)
        } catch .outcomeUnknown(let reason) where reason != .committedLocallyOnly {
            throw .outcomeUnknown(.commitFailed)
        }
        guard tag == "COMMIT" else {
            throw .server(SQLState("40000"), message: "the server rolled the transaction back", constraint: nil)
        }
    }

    /// Closes the connection if it cannot roll back; the server then rolls back.
    private func rollBack() {
        if hasVoidPlans { retire() }
        guard isUsable, isInTransaction else { return }
        do throws(PostgresError) { try run("ROLLBACK", deadline: .after(.milliseconds(500))) } catch { retire() }
    }
}
