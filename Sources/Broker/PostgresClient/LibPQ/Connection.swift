import CLibPQ
import Glibc

/// One session with the server. Confined to one thread; every wait has a deadline; nothing is ever cancelled on the
/// server: past a deadline the socket is closed and what was asked may or may not happen.
@safe final class Connection {
    let raw: OpaquePointer
    let notices: NoticeLog
    private let arrays = ParameterArrays()
    private var prepared: Set<Statement> = []
    private var columnNames: [Statement: ColumnNames] = [:]
    /// By the statement that makes many calls: the object id of its array's elements, `nil` if the server does not take it.
    var gatherings: [Statement: UInt32?] = [:]
    /// False once an answer was not waited for, the server went away, or it stopped taking writes.
    private(set) var isUsable = true
    /// Everything that libpq was given has been handed to the network.
    private(set) var hasSentAll = true
    /// A statement failed before it began, since its plan belongs to an older schema.
    private(set) var hasVoidPlans = false
    /// Where the database stood when the session was accepted, and what has been learned of it since.
    private var origin: (history: DatabaseHistory, timeline: Int64)?

    /// Takes over a session that has been established.
    init(established raw: OpaquePointer, notices: NoticeLog) {
        unsafe self.raw = unsafe raw
        self.notices = notices
        unsafe PQsetnonblocking(raw, 1)
    }

    deinit { unsafe PQfinish(raw) }

    // MARK: Calls

    /// Runs a statement, preparing it first where this session has not seen it.
    func execute(
        _ statement: Statement, _ parameters: EncodedParameters, deadline: MonotonicTime
    ) throws(PostgresError) -> [Row] {
        try prepare(statement, deadline: deadline)
        try send(deadline) { sendPrepared(statement, parameters) }
        return rows(of: try answer(deadline), statement)
    }

    func rows(of result: consuming ResultHandle, _ statement: Statement) -> [Row] {
        if let names = columnNames[statement] { return Answer(result, names).rows }
        let names = ColumnNames(result)
        columnNames[statement] = names
        return Answer(result, names).rows
    }

    func execute(
        _ statement: Statement, _ parameters: [PostgresValue], deadline: MonotonicTime
    ) throws(PostgresError) -> [Row] {
        try execute(statement, try EncodedParameters(parameters), deadline: deadline)
    }

    func hasPrepared(_ statement: Statement) -> Bool { prepared.contains(statement) }

    /// Does nothing where this session has seen the statement.
    func prepare(_ statement: Statement, deadline: MonotonicTime) throws(PostgresError) {
        guard !hasPrepared(statement) else { return }
        do throws(PostgresError) {
            try send(deadline) { unsafe PQsendPrepare(raw, statement.name, statement.text, 0, nil) }
            _ = try answer(deadline)
        } catch .outcomeUnknown(let reason) {
            throw .unavailable(reason)  // a plan was asked for, nothing that changes a row
        }
        prepared.insert(statement)
    }

    /// Runs text of this program's own, of one or more commands, through the simple protocol. The tag of the last one.
    @discardableResult
    func run(_ script: String, deadline: MonotonicTime) throws(PostgresError) -> String {
        try send(deadline) { unsafe PQsendQuery(raw, script) }
        let result = try answer(deadline)
        return result.command
    }

    /// After a change of the schema, plans that were made before may be void.
    func forgetStatements(deadline: MonotonicTime) throws(PostgresError) {
        prepared.removeAll()
        gatherings.removeAll()
        columnNames.removeAll()
        hasVoidPlans = false
        try run("DEALLOCATE ALL", deadline: deadline)
    }

    /// Where the session was accepted.
    func began(on timeline: Int64, in history: DatabaseHistory) { origin = (history, timeline) }

    /// Marks the session as not to be used again.
    func retire() { isUsable = false }

    // MARK: State

    var isInHealthyTransaction: Bool { unsafe PQtransactionStatus(raw) == PQTRANS_INTRANS }
    var isInTransaction: Bool { unsafe PQtransactionStatus(raw) != PQTRANS_IDLE }
    /// For whoever waits for notifications; -1 when there is none.
    var socket: Int32 { unsafe PQsocket(raw) }

    /// What a server reports of itself without being asked, such as `in_hot_standby`.
    func reported(_ setting: String) -> String? {
        unsafe PQparameterStatus(raw, setting).map { unsafe String(cString: $0) }
    }

    /// Looks, without waiting, whether the server hung up while nobody was asking, or another took its place.
    func isStale() -> Bool {
        if let origin, origin.history.hasLeft(timeline: origin.timeline) { isUsable = false }
        guard isUsable else { return true }
        var watched = pollfd(fd: unsafe PQsocket(raw), events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&watched, 1, 0) != 0 else { return false }
        let isConnected = unsafe PQconsumeInput(raw) == 1 && PQisBusy(raw) == 0 && PQstatus(raw) == CONNECTION_OK
        if !isConnected || notices.sawFarewell { isUsable = false }
        return !isUsable
    }

    /// Reads what has arrived and gives the notifications among it: channel and payload.
    func notifications() throws(PostgresError) -> [(channel: String, payload: String)] {
        guard unsafe PQconsumeInput(raw) == 1 else { throw lose(.connectionLost) }
        var all: [(channel: String, payload: String)] = []
        while let notification = unsafe PQnotifies(raw) {
            unsafe all.append(
                (String(cString: notification.pointee.relname), String(cString: notification.pointee.extra)))
            unsafe PQfreemem(notification)
        }
        return all
    }

    // MARK: Sending and waiting

    private func send(_ deadline: MonotonicTime, _ call: () -> Int32) throws(PostgresError) {
        guard isUsable else { throw .unavailable(.connectionLost) }
        guard !deadline.hasPassed else { throw .unavailable(.deadlineExceeded) }
        notices.sawUnreplicatedCommit = false
        guard call() == 1 else { throw lose(.connectionLost) }
    }

    /// What libpq answers: 1, or the connection is of no more use.
    func sendPrepared(_ statement: Statement, _ parameters: EncodedParameters) -> Int32 {
        unsafe arrays.send(parameters, to: statement.name, on: raw)
    }

    /// Reads to the end of what was asked: the last result, or the first error.
    private func answer(_ deadline: MonotonicTime) throws(PostgresError) -> ResultHandle {
        var last: ResultHandle?
        var failure: PostgresError?
        while true {
            try waitForResult(deadline)
            guard let next = unsafe PQgetResult(raw) else { break }
            let result = unsafe ResultHandle(next)
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: last = consume result
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw lose(.connectionLost)  // nobody asks for COPY
            default: failure = failure ?? error(from: result)
            }
        }
        if unsafe PQstatus(raw) != CONNECTION_OK { failure = lose(.connectionLost) }
        if let failure { throw failure }
        if notices.sawUnreplicatedCommit { throw .outcomeUnknown(.committedLocallyOnly) }
        guard let last else { throw lose(.connectionLost) }
        return last
    }

    /// Returns when a result can be had without waiting.
    func waitForResult(_ deadline: MonotonicTime) throws(PostgresError) {
        while true {
            let unsent = unsafe PQflush(raw)
            hasSentAll = unsent != 1
            guard unsent >= 0 else { throw lose(.connectionLost) }
            if unsent == 0, unsafe PQisBusy(raw) == 0 { return }
            var watched = pollfd(
                fd: unsafe PQsocket(raw), events: Int16(POLLIN) | (unsent == 1 ? Int16(POLLOUT) : 0), revents: 0)
            let ready = unsafe poll(&watched, 1, deadline.millisecondsLeft)
            if ready == 0 || (ready < 0 && deadline.hasPassed) { throw lose(.deadlineExceeded) }
            if ready < 0 && errno != EINTR { throw lose(.connectionLost) }
            if ready > 0, unsafe PQconsumeInput(raw) != 1 { throw lose(.connectionLost) }
        }
    }

    // MARK: Errors

    func lose(_ reason: PostgresError.Reason) -> PostgresError {
        isUsable = false
        return .outcomeUnknown(reason)
    }

    func error(from result: borrowing ResultHandle) -> PostgresError {
        // Without a SQLSTATE it was libpq that failed, not the statement.
        guard let state = result.field(.sqlState).map({ SQLState($0) }), !state.isShutdown else {
            return lose(.connectionLost)
        }
        if state.isReadOnly { isUsable = false }  // the next connection finds the server that takes writes
        // Message, never detail: the detail quotes rows. Class 22 quotes what was sent even in its message.
        let message = state.code.hasPrefix("22") ? "" : result.field(.message) ?? ""
        if state.code == "26000" || result.field(.sourceFunction) == "RevalidateCachedQuery" { hasVoidPlans = true }
        return .server(state, message: message, constraint: result.field(.constraint))
    }

}
