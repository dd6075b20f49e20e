import Synchronization

/// Runs batches on one connection and answers every call in them.
struct BatchRunner {
    let core: LaneCore<LaneCall>
    let aside: LaneCore<Job>
    let connection: Connection

    func run(_ calls: [LaneCall]) {
        var batch = prepare(live(calls))
        guard !batch.isEmpty else { return }
        batch.sort { $0.row < $1.row }
        let (gathered, others) = gather(batch)
        if gathered.isEmpty { runEach(batch) } else { run(batch, gathered, others) }
    }

    /// One statement per call.
    private func runEach(_ batch: [LaneCall]) { run(batch) { recover(batch, $0, $1) } }

    // MARK: Before

    /// Fails the calls that have waited too long, and returns the others.
    private func live(_ calls: [LaneCall]) -> [LaneCall] {
        let now = MonotonicTime.now
        guard calls.contains(where: { $0.expires <= now }) else { return calls }
        core.shed(calls.filter { $0.expires <= now })
        return calls.filter { $0.expires > now }
    }

    /// Prepares new statements before the batch, so that a refused statement fails only its own calls. Returns the
    /// calls that can be sent.
    private func prepare(_ calls: [LaneCall]) -> [LaneCall] {
        var refused: [Statement: PostgresError] = [:]
        var last: Statement?
        for call in calls where call.statement != last && refused[call.statement] == nil {
            last = call.statement
            do throws(PostgresError) {
                try connection.prepare(call.statement, deadline: call.deadline)
                if let gathering = call.statement.gathering {
                    connection.prepare(gathering, deadline: call.deadline)
                }
            } catch {
                refused[call.statement] = error
            }
        }
        guard connection.isUsable else {
            core.putBack(calls)
            return []
        }
        guard !refused.isEmpty else { return calls }
        for call in calls { if let error = refused[call.statement] { call.fail(error) } }
        return calls.filter { refused[$0.statement] == nil }
    }

    // MARK: One transaction

    /// Answers every call, unless the transaction was rolled back: then `recover` must.
    private func run(_ batch: [LaneCall], ifRolledBack recover: (_ culprit: Int?, PostgresError) -> Void) {
        switch attempt(batch) {
        case .committed(let answers): answer(batch, answers)
        case .lost(let error): fail(batch, error)
        case .rolledBack(let culprit, let error): recover(culprit, error)
        }
    }

    /// Runs the calls of `batch` in one transaction.
    ///
    /// - Parameter parts: The statements that run them; `nil`: one for each call.
    private func attempt(_ batch: [LaneCall], as parts: [LaneCall]? = nil) -> BatchOutcome {
        core.counters.withLock {
            $0.batchesTotal += 1
            $0.callsTotal += batch.count
        }
        let parts = parts ?? batch
        let outcome = batch.count == 1 ? attempt(parts[0]) : connection.execute(parts)
        if case .rolledBack = outcome { core.counters.withLock { $0.failedBatchesTotal += 1 } }
        return outcome
    }

    /// Runs the gathered calls first. Of two calls for one row, the second then follows the first.
    private func run(_ batch: [LaneCall], _ gathered: [GatheredCalls], _ others: [LaneCall]) {
        switch attempt(batch, as: gathered.map(\.part) + others) {
        case .committed(let answers):
            var rest: [LaneCall] = []
            for (calls, rows) in zip(gathered, answers) {
                rest += calls.answer(rows) { count in core.counters.withLock { $0.gatheredCallsTotal += count } }
            }
            answer(others, Array(answers.dropFirst(gathered.count)))
            guard !rest.isEmpty else { return }
            rest.sort { $0.row < $1.row }
            runEach(rest)
        case .lost(let error): fail(batch, error)
        case .rolledBack(_, let error):
            guard connection.isUsable else { return fail(batch, error) }
            if connection.hasVoidPlans { return renewPlans(batch) }
            if error.isOfStatement { for calls in gathered { connection.refuse(calls.gathering) } }
            // Runs each call on its own to find the failing one.
            core.counters.withLock { $0.repeatedCallsTotal += batch.count }
            runEach(batch)
        }
    }

    private func attempt(_ call: LaneCall) -> BatchOutcome {
        do throws(PostgresError) {
            return .committed([try connection.execute(call.statement, call.parameters, deadline: call.deadline)])
        } catch {
            if case .server = error { return .rolledBack(culprit: 0, error) }
            return .lost(error)
        }
    }

    // MARK: After a rollback

    /// The whole batch was rolled back, so it can run again. The failing call runs last and alone, so it cannot fail
    /// the others again.
    private func recover(_ batch: [LaneCall], _ culprit: Int?, _ error: PostgresError) {
        guard connection.isUsable else { return fail(batch, error) }
        if connection.hasVoidPlans { return renewPlans(batch) }
        guard batch.count > 1 else { return settle(batch[0], error) }
        core.counters.withLock { $0.repeatedCallsTotal += batch.count }
        guard let culprit else { return batch.forEach(runAlone) }
        var others = batch
        let suspect = others.remove(at: culprit)
        run(others) { _, _ in others.forEach(runAlone) }
        if error.mayPass { runAside(suspect) } else { runAlone(suspect) }
    }

    /// The schema has changed since the statements were prepared. No call is at fault.
    private func renewPlans(_ batch: [LaneCall]) {
        do throws(PostgresError) {
            try connection.forgetStatements(deadline: .after(.milliseconds(500)))
        } catch {
            connection.retire()
        }
        let batch = prepare(batch)
        guard !batch.isEmpty else { return }
        run(batch) { _, _ in batch.forEach(runAlone) }
    }

    private func runAlone(_ call: LaneCall) {
        switch attempt(call) {
        case .committed(let answers): answer([call], answers)
        case .lost(let error): call.fail(error)
        case .rolledBack(_, let error): settle(call, error)
        }
    }

    /// A call that failed alone. If the error is temporary, the call retries on the aside connection and the lane
    /// continues.
    private func settle(_ call: LaneCall, _ error: PostgresError) {
        if error.mayPass { runAside(call) } else { call.fail(error) }
    }

    /// Runs a call on the aside connection, with the full `lockTimeout`: it delays no other call.
    private func runAside(_ call: LaneCall) {
        core.counters.withLock { $0.callsAsideTotal += 1 }
        aside.submit(
            Job(id: 0, expires: min(call.deadline, .after(core.configuration.queueWait))) { connection in
                call.answer(
                    Result { () throws(PostgresError) in
                        try connection.get()
                            .executeRetrying(call.statement, call.parameters, deadline: call.deadline)
                    })
            })
    }

    // MARK: Answers

    private func answer(_ batch: [LaneCall], _ answers: [[Row]]) {
        for (call, rows) in zip(batch, answers) { call.answer(.success(rows)) }
    }

    private func fail(_ calls: [LaneCall], _ error: PostgresError) {
        for call in calls { call.fail(error) }
    }
}

extension PostgresError {
    /// The statement itself is wrong, regardless of values: class 42, syntax error or access rule violation.
    var isOfStatement: Bool {
        if case .server(let state, _, _) = self { state.code.hasPrefix("42") } else { false }
    }

    /// The error is temporary: another transaction was in the way.
    fileprivate var mayPass: Bool {
        if case .server(let state, _, _) = self { state.isRetryable || state.isLockTimeout } else { false }
    }
}
