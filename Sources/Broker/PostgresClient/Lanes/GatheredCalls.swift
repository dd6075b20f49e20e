import CLibPQ

/// Calls of one statement that are made by another one, in the order of their rows.
struct GatheredCalls {
    let gathering: Gathering
    let calls: [LaneCall]
    let part: BatchPart

    /// Gives each call its row of a committed answer. Those that have none were not made.
    ///
    /// - Parameter count: Told how many were made, before anybody hears of it.
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
            // Somebody's call was made, and it is not known whose.
            for call in calls { call.fail(error) }
            return []
        }
        count(rows.count)
        for (call, row) in zip(calls, answers) { if let row { call.answer(.success([row])) } }
        return zip(calls, answers).filter { $0.1 == nil }.map(\.0)
    }
}

extension BatchRunner {
    /// Which calls of a batch are made by one statement, for each statement of which there are enough. Not two for one row:
    /// the statement sees rows as they were before it.
    ///
    /// - Parameter batch: In the order of its rows, as are the results.
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
        // In every batch of every process in the same order, since they lock rows.
        groups.sort { $0.gathering.statement.name < $1.gathering.statement.name }
        let gathered = groups.compactMap { connection.gather($0.gathering, $0.calls, from: core.lanes.gathersFrom) }
        guard !gathered.isEmpty else { return ([], batch) }
        let taken = Set(gathered.flatMap { $0.calls.map(ObjectIdentifier.init) })
        return (gathered, batch.filter { !taken.contains(ObjectIdentifier($0)) })
    }
}

extension Connection {
    private static let typeOfElement = Statement("SELECT to_regtype($1)::oid::bigint")

    /// Learns how many calls are made by one, which the server need not allow: then each is made by itself.
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
            gathering: gathering, calls: calls,
            part: BatchPart(statement: gathering.statement, parameters: parameters, deadline: deadline))
    }
}

/// What became of a batch.
enum BatchOutcome {
    /// Committed; the rows of each part, in their order.
    case committed([[Row]])
    /// Undone, because of that part; `nil` if the commit failed.
    case rolledBack(culprit: Int?, PostgresError)
    /// No call of it has an answer. The connection may be of no more use.
    case lost(PostgresError)
}

/// What is sent for one answer.
struct BatchPart {
    let statement: Statement
    let parameters: EncodedParameters
    let deadline: MonotonicTime
}

extension BatchPart {
    init(_ call: LaneCall) {
        self.init(statement: call.statement, parameters: call.parameters, deadline: call.deadline)
    }
}

extension Connection {
    /// Runs prepared statements in one transaction: sent as one, with one Sync, committed as one.
    ///
    /// Nothing counts before the server has answered the Sync: until then a row that it returned may yet be undone.
    func execute(_ batch: [BatchPart]) -> BatchOutcome {
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
            return .lost(.unavailable(reason))  // the Sync, which is last, has not left
        } catch {
            return .lost(error)
        }
    }

    private func answers(to batch: [BatchPart], _ deadline: MonotonicTime) throws(PostgresError) -> BatchOutcome {
        let count = batch.count
        var answers: [[Row]] = []
        answers.reserveCapacity(count)
        var failure: (culprit: Int?, error: PostgresError)?
        var isBetweenAnswers = true
        while true {
            try waitForResult(deadline)
            guard let next = unsafe PQgetResult(raw) else {
                // The end of one answer. Two in a row: there is nothing more to come, not even the Sync.
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
            case PGRES_PIPELINE_ABORTED: break  // undone with the one that failed
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
