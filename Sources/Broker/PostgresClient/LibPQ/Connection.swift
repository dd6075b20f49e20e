import CLibPQ
import Glibc

/// One session with the server, confined to one thread. Every wait has a deadline. The client never cancels on the
/// server: after a deadline it closes the socket, and the outcome is unknown.
@safe final class Connection {
    let raw: OpaquePointer
    let notices: NoticeLog
    private let arrays = ParameterArrays()
    private var prepared: Set<Statement> = []
    private var columnNames: [Statement: ColumnNames] = [:]
    /// By gathering statement: the object id of its array's element type; `nil` if the server refuses the statement.
    var gatherings: [Statement: UInt32?] = [:]
    /// False after a missed deadline, a lost connection, or a read-only server.
    private(set) var isUsable = true
    /// libpq has written all its data to the socket.
    private(set) var hasSentAll = true
    /// A statement failed before it began, because its plan is for an older schema.
    private(set) var hasVoidPlans = false
    /// The history that accepted this session, and its count of servers then.
    private var origin: (history: DatabaseHistory, server: Int)?

    /// Takes ownership of an established session.
    init(established raw: OpaquePointer, notices: NoticeLog) {
        unsafe self.raw = unsafe raw
        self.notices = notices
        unsafe PQsetnonblocking(raw, 1)
    }

    deinit { unsafe PQfinish(raw) }

    // MARK: Calls

    /// Runs a statement; prepares it first if it is new to this session.
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
        try execute(statement, try EncodedParameters(parameters).checked(), deadline: deadline)
    }

    /// Prepares a statement unless this session has already done so.
    func prepare(_ statement: Statement, deadline: MonotonicTime) throws(PostgresError) {
        guard !prepared.contains(statement) else { return }
        do throws(PostgresError) {
            try send(deadline) { unsafe PQsendPrepare(raw, statement.name, statement.text, 0, nil) }
            _ = try answer(deadline)
        } catch .outcomeUnknown(let reason) {
            throw .unavailable(reason)  // preparing changes no row
        }
        prepared.insert(statement)
    }

    /// Runs one or more constant commands through the simple protocol. Returns the tag of the last one.
    @discardableResult
    func run(_ script: String, deadline: MonotonicTime) throws(PostgresError) -> String {
        try send(deadline) { unsafe PQsendQuery(raw, script) }
        let result = try answer(deadline)
        return result.command
    }

    /// Sets settings for the rest of the session, if the server process that answers has this id. In one round trip and
    /// with nothing prepared, because a pooler may pass the next one to another process.
    /// - Returns: `false`: another process answered, and nothing was set.
    func apply(
        _ settings: [(name: String, value: String)], inProcess process: Int32, deadline: MonotonicTime
    ) throws(PostgresError) -> Bool {
        let calls = settings.indices.map { "pg_catalog.set_config($\(2 * $0 + 2), $\(2 * $0 + 3), false)" }
        let text = "SELECT \(calls.joined(separator: ", ")) WHERE pg_catalog.pg_backend_pid() = $1::text::int"
        let values = CStrings(["\(process)"] + settings.flatMap { [$0.name, $0.value] })
        try send(deadline) {
            unsafe values.withPointers {
                unsafe PQsendQueryParams(raw, text, Int32(2 * settings.count + 1), nil, $0, nil, nil, 0)
            }
        }
        return try answer(deadline).rows == 1
    }

    /// The id of the server process that answers.
    func process(deadline: MonotonicTime) throws(PostgresError) -> Int32 {
        let statement = Statement("SELECT pg_catalog.pg_backend_pid()")
        try send(deadline) { unsafe PQsendQueryParams(raw, statement.text, 0, nil, nil, nil, nil, 1) }
        guard let row = rows(of: try answer(deadline), statement).first else { throw .unexpectedResult(column: 0) }
        return try row.int32(0)
    }

    /// Drops all prepared plans; a schema change may have made them invalid.
    func forgetStatements(deadline: MonotonicTime) throws(PostgresError) {
        prepared.removeAll()
        gatherings.removeAll()
        columnNames.removeAll()
        hasVoidPlans = false
        try run("DEALLOCATE ALL", deadline: deadline)
    }

    /// Records that the session was accepted.
    func began(_ server: Int, in history: DatabaseHistory) { origin = (history, server) }

    func retire() { isUsable = false }

    // MARK: State

    var isInHealthyTransaction: Bool { unsafe PQtransactionStatus(raw) == PQTRANS_INTRANS }
    var isInTransaction: Bool { unsafe PQtransactionStatus(raw) != PQTRANS_IDLE }
    /// To wait for notifications; -1 if there is no socket.
    var socket: Int32 { unsafe PQsocket(raw) }

    /// The id of the server process as the start of the session gave it.
    var announcedProcess: Int32 { unsafe PQbackendPID(raw) }

    /// The first line of libpq's last message; `nil`: none. Contains no password.
    var lastError: String? { unsafe Connector.firstLine(of: String(cString: PQerrorMessage(raw))) }

    /// A setting that the server reports on its own, such as `in_hot_standby`.
    func reported(_ setting: String) -> String? {
        unsafe PQparameterStatus(raw, setting).map { unsafe String(cString: $0) }
    }

    /// Checks without waiting: did the server close the connection, or has another one replaced it?
    func isStale() -> Bool {
        if let origin, origin.history.hasLeft(origin.server) { isUsable = false }
        guard isUsable else { return true }
        var watched = pollfd(fd: unsafe PQsocket(raw), events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&watched, 1, 0) != 0 else { return false }
        let isConnected = unsafe PQconsumeInput(raw) == 1 && PQisBusy(raw) == 0 && PQstatus(raw) == CONNECTION_OK
        if !isConnected || notices.sawFarewell { isUsable = false }
        return !isUsable
    }

    /// Reads pending input and returns the notifications in it: channel and payload.
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

    /// Waits for a notification with this payload while the session does nothing else.
    func hears(_ payload: String, until deadline: MonotonicTime) throws(PostgresError) -> Bool {
        while true {
            if try notifications().contains(where: { $0.payload.utf8.elementsEqual(payload.utf8) }) { return true }
            var watched = pollfd(fd: unsafe PQsocket(raw), events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&watched, 1, deadline.millisecondsLeft)
            if ready == 0 || (ready < 0 && errno != EINTR) { return false }
        }
    }

    // MARK: Sending and waiting

    private func send(_ deadline: MonotonicTime, _ call: () -> Int32) throws(PostgresError) {
        guard isUsable else { throw .unavailable(.connectionLost) }
        guard !deadline.hasPassed else { throw .unavailable(.deadlineExceeded) }
        notices.sawUnreplicatedCommit = false
        guard call() == 1 else { throw lose(.connectionLost) }
    }

    /// Returns libpq's result: 1, or the connection is unusable.
    func sendPrepared(_ statement: Statement, _ parameters: EncodedParameters) -> Int32 {
        unsafe arrays.send(parameters, to: statement.name, on: raw)
    }

    /// Reads all results of a request. Returns the last result or throws the first error.
    private func answer(_ deadline: MonotonicTime) throws(PostgresError) -> ResultHandle {
        var last: ResultHandle?
        var failure: PostgresError?
        while true {
            try waitForResult(deadline)
            guard let next = unsafe PQgetResult(raw) else { break }
            let result = unsafe ResultHandle(next)
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: last = consume result
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: throw lose(.connectionLost)  // COPY is never used
            default: failure = failure ?? error(from: result)
            }
        }
        if unsafe PQstatus(raw) != CONNECTION_OK { failure = lose(.connectionLost) }
        if let failure { throw failure }
        if notices.sawUnreplicatedCommit { throw .outcomeUnknown(.committedLocallyOnly) }
        guard let last else { throw lose(.connectionLost) }
        return last
    }

    /// Waits until a result can be read without blocking.
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
        // An error without a SQLSTATE comes from libpq, not from the statement.
        guard let state = result.field(.sqlState).map({ SQLState($0) }), !state.isShutdown else {
            return lose(.connectionLost)
        }
        if state.isReadOnly { isUsable = false }  // the next connection searches for a writable server
        // Keep the message but never the detail, which quotes rows. Class 22 quotes parameters even in its message.
        let message = state.isDataException ? "" : result.field(.message) ?? ""
        if state.code == "26000" || result.field(.sourceFunction) == "RevalidateCachedQuery" { hasVoidPlans = true }
        return .server(state, message: message, constraint: result.field(.constraint))
    }
}
