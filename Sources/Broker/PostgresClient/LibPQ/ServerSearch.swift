import CLibPQ

/// Finds the writable server and connects threads to it, until closed.
final class ServerSearch: Sendable {
    let configuration: PostgresConfiguration
    let connector: Connector
    private let history: DatabaseHistory?
    private let onEvent: @Sendable (ConnectionEvent) -> Void
    private let monitor = Monitor(State(), conditions: 1)

    struct State: Sendable {
        var isClosed = false
        /// The last usable server; the next connection tries it first.
        var preferredAddress = 0
        /// The reason of the last failed attempt; `nil` after a success.
        var failure: PostgresError.Reason?
        var statistics = ConnectionStatistics()
    }

    init(
        _ configuration: PostgresConfiguration, history: DatabaseHistory?,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.configuration = configuration
        self.history = history
        self.onEvent = onEvent
        connector = Connector(configuration)
    }

    var statistics: ConnectionStatistics { monitor.withLock { $0.statistics } }

    /// Why a queued call timed out: no server, or too much load.
    var reasonForWaiting: PostgresError.Reason {
        monitor.withLock { state in
            state.statistics.connections == 0 ? state.failure ?? .queueWaitExceeded : .queueWaitExceeded
        }
    }

    /// Opens no further connections. Existing ones stay with their threads.
    func close() {
        monitor.withLock { $0.isClosed = true }
        monitor.broadcast(0)
    }

    /// Passes one connection after the other to `serve`, which returns when it no longer needs or cannot use it.
    /// Blocks the thread until closed.
    func withConnections(_ serve: (Connection) -> Void) {
        while let (connection, address) = establish() {
            onEvent(.connected(server: address.description))
            serve(connection)
            let isClosed = monitor.withLock { state in
                state.statistics.connections -= 1
                return state.isClosed
            }
            if isClosed { return }
            onEvent(.disconnected(server: address.description))
        }
    }

    /// Tries the servers in turn, with pauses, until one is usable. `nil` when closed.
    private func establish() -> (Connection, ServerAddress)? {
        var pause = Duration.milliseconds(20)
        while true {
            let (first, isClosed) = monitor.withLock { ($0.preferredAddress, $0.isClosed) }
            guard !isClosed else { return nil }
            // Says more than what the other servers of the round say, such as standbys.
            var wentBackwards = false
            for offset in connector.addresses.indices where !monitor.withLock({ $0.isClosed }) {
                let index = (first + offset) % connector.addresses.count
                let address = connector.addresses[index]
                do throws(ConnectFailure) {
                    let connection = try connect(to: address)
                    monitor.withLock { state in
                        state.preferredAddress = index
                        state.failure = nil
                        state.statistics.connections += 1
                        state.statistics.connectsTotal += 1
                    }
                    return (connection, address)
                } catch {
                    if error.reason == .databaseWentBackwards { wentBackwards = true }
                    monitor.withLock { state in
                        state.failure =
                            wentBackwards
                            ? .databaseWentBackwards
                            : error.reason == .deadlineExceeded ? .connectFailed : error.reason
                        state.statistics.connectFailuresTotal += 1
                    }
                    report(error)
                }
            }
            sleep(pause * Double.random(in: 0.5...1))
            pause = min(pause * 2, .seconds(1))
        }
    }

    private func connect(to address: ServerAddress) throws(ConnectFailure) -> Connection {
        let connection = try connector.connect(to: address)
        guard let history else { return connection }
        do throws(PostgresError) {
            if try history.accepts(connection, deadline: .after(configuration.connectTimeout)) { return connection }
        } catch {
            throw ConnectFailure(address: address, reason: .connectionLost)
        }
        throw ConnectFailure(address: address, reason: .databaseWentBackwards)
    }

    /// Ends early on close.
    private func sleep(_ duration: Duration) {
        let until = MonotonicTime.after(duration)
        monitor.wait(on: 0) { state in state.isClosed || until.hasPassed ? .done(()) : .wait(until: until) }
    }

    /// Reports a failed attempt. Listeners, which make their own connections, call it too.
    func report(_ failure: ConnectFailure) {
        onEvent(
            .connectFailed(
                server: failure.address.description, reason: failure.reason, state: failure.state,
                message: failure.message))
    }
}

/// Parses connection parameters with libpq.
enum ConnectionURI {
    /// The parameters in a URI or keyword string; `nil` if libpq cannot parse it.
    static func parse(_ text: String) -> [String: String]? {
        guard !text.utf8.contains(0) else { return nil }
        var complaint: UnsafeMutablePointer<CChar>?
        let list = unsafe PQconninfoParse(text, &complaint)
        unsafe PQfreemem(complaint)  // discarded: it may quote the text and a password in it
        guard let list = unsafe list else { return nil }
        defer { unsafe PQconninfoFree(list) }
        var parameters: [String: String] = [:]
        var option = unsafe list
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe parameters[String(cString: keyword)] = String(cString: value)
            }
            unsafe option += 1
        }
        return parameters
    }
}

/// One server of a multi-host URI. libpq could try them in turn too, but only its blocking call limits the time per
/// host.
struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    let host: String?
    let numericAddress: String?
    let port: String?

    var description: String { "\(host ?? numericAddress ?? "local socket")\(port.map { ":" + $0 } ?? "")" }

    static func all(in parameters: [String: String]) -> [ServerAddress] {
        let hosts = list(parameters["host"]), addresses = list(parameters["hostaddr"]), ports = list(parameters["port"])
        return (0..<max(hosts.count, addresses.count, 1)).map { index in
            ServerAddress(
                host: index < hosts.count ? hosts[index] : nil,
                numericAddress: index < addresses.count ? addresses[index] : nil,
                port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : nil)
        }
    }

    /// An empty element means libpq's default.
    private static func list(_ value: String?) -> [String?] {
        guard let value, !value.isEmpty else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
    }
}
