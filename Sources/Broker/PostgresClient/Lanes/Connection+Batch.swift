import CLibPQ

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
