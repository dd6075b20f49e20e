import CLibPQ
import Glibc

/// Establishes sessions, with a time limit per host.
struct Connector: Sendable {
    let configuration: PostgresConfiguration
    let addresses: [ServerAddress]

    init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
        addresses = ServerAddress.all(in: configuration.parameters)
    }

    /// One attempt at one server. Blocks for at most `connectTimeout`, plus DNS resolution if the host is a name.
    func connect(to address: ServerAddress) throws(ConnectFailure) -> Connection {
        let deadline = MonotonicTime.after(configuration.connectTimeout)
        let connection = try open(address, until: deadline)
        if configuration.requiresWritable,
            connection.reported("in_hot_standby") == "on"
                || connection.reported("default_transaction_read_only") == "on"
        {
            throw ConnectFailure(address: address, reason: .notWritable)
        }
        do throws(PostgresError) {
            let process = connection.announcedProcess
            if try connection.apply(sessionSettings, inProcess: process, deadline: deadline) { return connection }
            if try settles(connection, at: address, until: deadline) { return connection }
        } catch .server(let state, let message, _) {
            throw ConnectFailure(address: address, reason: .connectFailed, state: state, message: message)
        } catch .unavailable(.deadlineExceeded), .outcomeUnknown(.deadlineExceeded) {
            throw ConnectFailure(address: address, reason: .deadlineExceeded)
        } catch {
            throw ConnectFailure(address: address, reason: .connectionLost, message: connection.lastError)
        }
        throw ConnectFailure(
            address: address, reason: .transactionPooling, message: PostgresError.Reason.transactionPoolingRemedy)
    }

    /// Applies the settings to a session behind a pooler, if it keeps the session in one server process.
    ///
    /// A pooler is there: another process answers than the start announced. It pools transactions if both sessions meet in
    /// one process, or if no notification arrives between two transactions: its process is not this session's then.
    /// - Returns: `false`: it pools transactions or statements, and nothing was set.
    private func settles(
        _ connection: Connection, at address: ServerAddress, until deadline: MonotonicTime
    ) throws(PostgresError) -> Bool {
        let process = try connection.process(deadline: deadline)
        let other: Connection
        do throws(ConnectFailure) { other = try open(address, until: deadline) } catch {
            throw .unavailable(error.reason)
        }
        guard try other.process(deadline: deadline) != process,
            try connection.process(deadline: deadline) == process
        else { return false }
        let payload = "\(process) \(UInt64.random(in: 0...UInt64.max))"
        try connection.run("LISTEN native_sso_session", deadline: deadline)
        try other.run("NOTIFY native_sso_session, '\(payload)'", deadline: deadline)
        let wait = MonotonicTime.after(configuration.connectTimeout / 2)
        guard try connection.hears(payload, until: wait) else {
            // The LISTEN is in a server process that others use, too. The pooler gives the process that it used last.
            _ = try? connection.run("UNLISTEN native_sso_session", deadline: deadline)
            return false
        }
        try connection.run("UNLISTEN native_sso_session", deadline: deadline)
        _ = try connection.notifications()
        return try connection.apply(sessionSettings, inProcess: process, deadline: deadline)
    }

    private func open(_ address: ServerAddress, until deadline: MonotonicTime) throws(ConnectFailure) -> Connection {
        let notices = NoticeLog()
        guard let raw = unsafe start(address) else { throw ConnectFailure(address: address, reason: .connectFailed) }
        unsafe PQsetNoticeReceiver(raw, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
        unsafe PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)  // includes the SQLSTATE in the error text
        var step = PGRES_POLLING_WRITING
        while unsafe PQstatus(raw) != CONNECTION_BAD, step == PGRES_POLLING_WRITING || step == PGRES_POLLING_READING {
            var watched = pollfd(
                fd: unsafe PQsocket(raw), events: Int16(step == PGRES_POLLING_WRITING ? POLLOUT : POLLIN), revents: 0)
            let ready = unsafe poll(&watched, 1, deadline.millisecondsLeft)
            if ready < 0 && errno == EINTR { continue }
            guard ready > 0 else {
                unsafe PQfinish(raw)
                throw ConnectFailure(address: address, reason: ready == 0 ? .deadlineExceeded : .connectFailed)
            }
            step = unsafe PQconnectPoll(raw)
        }
        guard step == PGRES_POLLING_OK else {
            let text = unsafe String(cString: PQerrorMessage(raw))
            unsafe PQfinish(raw)
            throw ConnectFailure(
                address: address, reason: .connectFailed, state: Self.state(in: text), message: Self.firstLine(of: text)
            )
        }
        return unsafe Connection(established: raw, notices: notices)
    }

    private func start(_ address: ServerAddress) -> OpaquePointer? {
        var parameters = configuration.parameters
        for replaced in ["host", "hostaddr", "port", "target_session_attrs", "connect_timeout"] {
            parameters[replaced] = nil
        }
        parameters["host"] = address.host
        parameters["hostaddr"] = address.numericAddress
        parameters["port"] = address.port
        parameters["application_name"] = configuration.applicationName
        parameters["client_encoding"] = "UTF8"
        if parameters["gssencmode"] == nil { parameters["gssencmode"] = "disable" }
        let keywords = CStrings(parameters.map(\.key) + (configuration.password == nil ? [] : ["password"]))
        let values = CStrings(parameters.map(\.value) + (configuration.password.map { [$0.secret] } ?? []))
        return unsafe keywords.withPointers { keywords in
            unsafe values.withPointers { unsafe PQconnectStartParams(keywords, $0, 0) }
        }
    }

    /// Set after the start: a pooler refuses most of them in the startup packet, or drops them.
    private var sessionSettings: [(name: String, value: String)] {
        let always = [
            ("client_min_messages", "warning"), ("default_transaction_isolation", "read committed"),
            ("lock_timeout", "\(configuration.lockTimeout.wholeMilliseconds)"),
            ("statement_timeout", "\(configuration.statementTimeout.wholeMilliseconds)"),
            ("idle_in_transaction_session_timeout", "\(configuration.idleInTransactionTimeout.wholeMilliseconds)"),
        ]
        return always + configuration.sessionSettings.map { ($0.key, $0.value) }
    }

    /// `FATAL:  53300: sorry, …` → 53300. Before a session exists, libpq offers the SQLSTATE only in this text.
    static func state(in message: String) -> SQLState? {
        message.split(separator: ":").lazy.map { $0.filter { $0 != " " } }.first { part in
            part.utf8.count == 5 && part.utf8.contains { (0x30...0x39).contains($0) }
                && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) }
        }.map { SQLState($0) }
    }

    /// The first line of an error; later lines have source locations and hints. Limited to 500 characters, because
    /// the server controls the text.
    static func firstLine(of text: String) -> String? {
        let line = text.prefix { !$0.isNewline }.prefix(500)
        return line.isEmpty ? nil : String(line)
    }
}

struct ConnectFailure: Error {
    let address: ServerAddress
    let reason: PostgresError.Reason
    /// The server's SQLSTATE, if it answered.
    var state: SQLState?
    /// The first line of libpq's message, if any. Contains no password.
    var message: String?
}

extension Connection {
    /// Runs one statement; retries at most three times if the server reports a retryable error or an invalid plan.
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

/// A connection event for the operator's log.
package enum ConnectionEvent: Sendable, Equatable {
    case connected(server: String)
    /// `state` is the server's SQLSTATE, if it answered. `reason` is `deadlineExceeded` if it did not. `message` is
    /// the first line of libpq's message, if any: without passwords, not escaped.
    case connectFailed(server: String, reason: PostgresError.Reason, state: SQLState?, message: String?)
    /// A connection in use ended: lost, past a deadline, or on a server that became read-only.
    case disconnected(server: String)
}

/// Counters of connections, for metrics. Names with `Total` only increase.
package struct ConnectionStatistics: Sendable, Equatable {
    /// Currently open.
    package var connections = 0
    /// Opened since the start.
    package var connectsTotal = 0
    /// Failed attempts since the start, one per server tried.
    package var connectFailuresTotal = 0
}
