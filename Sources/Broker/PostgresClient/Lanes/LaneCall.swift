/// One call that waits for a lane, or has one.
///
/// `@unchecked Sendable`: the caller's continuation is set before the call is queued, and taken by whoever took the call
/// out of the queue, under the lock of the queue.
final class LaneCall: @unchecked Sendable {
    typealias Caller = CheckedContinuation<Result<[Row], PostgresError>, Never>

    let statement: Statement
    let parameters: EncodedParameters
    let row: RowKey
    /// Until then it may wait for a lane.
    let expires: MonotonicTime
    /// Until then it is to be answered.
    let deadline: MonotonicTime
    private var caller: Caller?

    init(
        _ statement: Statement, _ parameters: EncodedParameters, row: RowKey, queueWait: Duration, limit: Duration
    ) {
        let now = MonotonicTime.now
        self.statement = statement
        self.parameters = parameters
        self.row = row
        deadline = now.advanced(by: limit)
        expires = min(deadline, now.advanced(by: queueWait))
    }

    func expect(_ caller: Caller) { self.caller = caller }

    /// Resumes the caller; once.
    func answer(_ result: Result<[Row], PostgresError>) {
        caller?.resume(returning: result)
        caller = nil
    }

    func fail(_ error: PostgresError) { answer(.failure(error)) }
}
