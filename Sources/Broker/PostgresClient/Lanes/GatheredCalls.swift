import CLibPQ

/// Calls that one statement runs together, in order of their rows.
struct GatheredCalls {
    let gathering: Gathering
    let calls: [LaneCall]
    /// The statement that runs them; it has no caller.
    let part: LaneCall

    /// Answers each call with its row. Returns the calls without a row: they had no effect.
    ///
    /// - Parameter count: Receives the number of successful calls before they are answered.
    func answer(_ rows: [Row], count: (Int) -> Void) -> [LaneCall] {
        var answers: [Row?] = Array(repeating: nil, count: calls.count)
        do throws(PostgresError) {
            for row in rows {
                guard let place = Int(exactly: try row.int64(row.column("place"))), place >= 1, place <= calls.count,
                    answers[place - 1] == nil
                else { throw .unexpectedResult(column: 1) }
                answers[place - 1] = row
            }
        } catch {
            // A row cannot be assigned, so the outcome of every call is unknown.
            for call in calls { call.fail(error) }
            return []
        }
        count(rows.count)
        for (call, row) in zip(calls, answers) { if let row { call.answer(.success([row])) } }
        return zip(calls, answers).filter { $0.1 == nil }.map(\.0)
    }
}

extension BatchRunner {
    /// Groups the calls that one statement can run together, if there are enough. A group has at most one call per
    /// row: the statement sees rows as they were before it.
    ///
    /// - Parameter batch: In order of its rows; so are the results.
    func gather(_ batch: [LaneCall]) -> (gathered: [GatheredCalls], others: [LaneCall]) {
        var groups: [(gathering: Gathering, calls: [LaneCall])] = []
        for call in batch {
            guard let gathering = call.statement.gathering, gathering.takes(call.parameters) else { continue }
            if let index = groups.firstIndex(where: { $0.gathering === gathering }) {
                if groups[index].calls.last?.row != call.row { groups[index].calls.append(call) }
            } else {
                groups.append((gathering, [call]))
            }
        }
        // The statements lock rows, so every batch of every process must use the same order.
        groups.sort { $0.gathering.statement.name < $1.gathering.statement.name }
        let gathered = groups.compactMap { connection.gather($0.gathering, $0.calls, from: core.lanes.gathersFrom) }
        guard !gathered.isEmpty else { return ([], batch) }
        let taken = Set(gathered.flatMap { $0.calls.map(ObjectIdentifier.init) })
        return (gathered, batch.filter { !taken.contains(ObjectIdentifier($0)) })
    }
}

extension Connection {
    private static let typeOfElement = Statement("SELECT to_regtype($1)::oid::bigint")

    /// Prepares the gathering statement. If the server refuses it, every call runs on its own.
    func prepare(_ gathering: Gathering, deadline: MonotonicTime) {
        guard gatherings[gathering.statement] == nil else { return }
        do throws(PostgresError) {
            let rows = try execute(Self.typeOfElement, [.text(gathering.element.description)], deadline: deadline)
            try prepare(gathering.statement, deadline: deadline)
            gatherings[gathering.statement] = .some(rows.isEmpty ? nil : UInt32(exactly: try rows[0].int64(0)))
        } catch  where error.isOfStatement {
            refuse(gathering)
        } catch {
            // The next batch asks again.
        }
    }

    func refuse(_ gathering: Gathering) { gatherings[gathering.statement] = .some(nil) }

    fileprivate func gather(_ gathering: Gathering, _ calls: [LaneCall], from least: Int) -> GatheredCalls? {
        guard calls.count >= max(least, 1), case .some(let element?) = gatherings[gathering.statement],
            let deadline = calls.lazy.map(\.deadline).min(),
            let parameters = EncodedParameters(gathering: calls.map(\.parameters), gathering.fields, element: element)
        else { return nil }
        return GatheredCalls(
            gathering: gathering, calls: calls, part: LaneCall(gathering.statement, parameters, deadline: deadline))
    }
}

enum BatchOutcome {
    /// Committed, with the rows of each part in order.
    case committed([[Row]])
    /// Rolled back because of part `culprit`; `nil` if the commit failed.
    case rolledBack(culprit: Int?, PostgresError)
    /// No call has an answer. The connection may be unusable.
    case lost(PostgresError)
}

extension Connection {
    /// Runs prepared statements in one transaction, with one Sync.
    ///
    /// The result counts only when the server has answered the Sync: until then a returned row may still be rolled
    /// back.
    func execute(_ batch: [LaneCall]) -> BatchOutcome {
        guard let deadline = batch.lazy.map(\.deadline).min() else { return .committed([]) }
        guard isUsable else { return .lost(.unavailable(.connectionLost)) }
        guard !deadline.hasPassed else { return .lost(.unavailable(.deadlineExceeded)) }
        notices.sawUnreplicatedCommit = false
        guard unsafe PQenterPipelineMode(raw) == 1,
            batch.allSatisfy({ sendPrepared($0.statement, $0.parameters) == 1 }), unsafe PQpipelineSync(raw) == 1
        else {
            retire()  // without the Sync the server commits nothing
            return .lost(.unavailable(.connectionLost))
        }
        do throws(PostgresError) {
            return try answers(to: batch, deadline)
        } catch .outcomeUnknown(let reason) where !hasSentAll {
            return .lost(.unavailable(reason))  // the Sync is last and was not sent
        } catch {
            return .lost(error)
        }
    }

    private func answers(to batch: [LaneCall], _ deadline: MonotonicTime) throws(PostgresError) -> BatchOutcome {
        let count = batch.count
        var answers: [[Row]] = []
        answers.reserveCapacity(count)
        var failure: (culprit: Int?, error: PostgresError)?
        var isBetweenAnswers = true
        while true {
            try waitForResult(deadline)
            guard let next = unsafe PQgetResult(raw) else {
                // The end of one answer. Two in a row mean that the server sends nothing more, not even the Sync.
                guard !isBetweenAnswers, unsafe PQstatus(raw) == CONNECTION_OK else { throw lose(.connectionLost) }
                isBetweenAnswers = true
                continue
            }
            isBetweenAnswers = false
            let result = unsafe ResultHandle(next)
            switch result.status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                guard answers.count < count else { throw lose(.connectionLost) }
                answers.append(rows(of: result, batch[answers.count].statement))
            case PGRES_PIPELINE_ABORTED: break  // rolled back with the failed one
            case PGRES_PIPELINE_SYNC:
                guard unsafe PQexitPipelineMode(raw) == 1 else { throw lose(.connectionLost) }
                if let failure { return .rolledBack(culprit: failure.culprit, failure.error) }
                if notices.sawUnreplicatedCommit { throw .outcomeUnknown(.committedLocallyOnly) }
                guard answers.count == count else { throw lose(.connectionLost) }
                return .committed(answers)
            default:
                let error = error(from: result)
                guard case .server = error else { throw error }
                if failure == nil { failure = (answers.count < count ? answers.count : nil, error) }
            }
        }
    }
}
