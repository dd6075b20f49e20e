extension Connection {
    /// One statement, again where the server says that it may succeed if it is run again.
    func executeRetrying(
        _ statement: Statement, _ parameters: EncodedParameters, deadline: MonotonicTime
    ) throws(PostgresError) -> [Row] {
        for attempt in 0..<3 {
            do throws(PostgresError) {
                return try execute(statement, parameters, deadline: deadline)
            } catch .server(let state, let message, let constraint) {
                if hasVoidPlans {
                    try forgetStatements(deadline: deadline)
                } else {
                    let pause = Duration.milliseconds(Int.random(in: 1...(10 << attempt)))
                    guard state.isRetryable, deadline > .after(pause) else {
                        throw .server(state, message: message, constraint: constraint)
                    }
                    MonotonicTime.pause(pause)
                }
            }
        }
        return try execute(statement, parameters, deadline: deadline)
    }
}
