import ChildProcesses
import Foundation
import Glibc

/// A private PostgreSQL server from the installed server package. For development and tests only.
///
/// One directory holds its data, log, password file and Unix socket. It listens on that socket and a free loopback
/// port, and requires a password (SCRAM). It ends with its owner, even if the owner is killed, and when the last
/// reference to it is dropped.
package actor PrivateCluster {
    /// The name of the superuser and of the database it lands in.
    package static let superuser = "postgres"

    /// Holds everything of the cluster; mode 0700.
    package nonisolated let directory: String
    /// The loopback port. It stays the same over restarts.
    package nonisolated let port: UInt16
    /// The superuser's password, also in `passwordFile`. Made anew for each cluster, of no worth outside it.
    package nonisolated let password: String

    nonisolated let programs: ServerPrograms
    nonisolated let options: ClusterOptions
    /// Settings beside those of the options, changed while it lives.
    private var changes: [String: String] = [:]
    private var supervisor: Supervisor?

    init(directory: String, port: UInt16, password: String, programs: ServerPrograms, options: ClusterOptions) {
        self.directory = directory
        self.port = port
        self.password = password
        self.programs = programs
        self.options = options
    }

    /// Removes the directory of an ephemeral server that was killed and not restarted: no supervisor is left to do it.
    deinit {
        if supervisor == nil, options.isEphemeral { try? FileManager.default.removeItem(atPath: directory) }
    }

    /// Makes the cluster if the directory holds none, starts it, and returns when it accepts connections.
    ///
    /// - Parameter directory: Where it lives; `nil` makes a directory in the temporary one.
    package static func start(directory: String? = nil, options: ClusterOptions = ClusterOptions()) async throws
        -> PrivateCluster
    {
        let programs = try ServerPrograms.locate()
        let home = try ClusterDirectory(directory, programs: programs)
        let password = try await onOwnThread { try home.initialize(options: options) }
        let cluster = PrivateCluster(
            directory: home.path, port: try LoopbackPort.free(), password: password, programs: programs,
            options: options)
        do { try await cluster.launch() } catch {
            try? await cluster.stop()
            throw error
        }
        return cluster
    }

    /// A server that others started and will stop, on a loopback port. Only SQL can be run on it.
    ///
    /// - Parameter directory: Where `pgpass` is, with the superuser's password as its last field.
    package static func attached(directory: String, port: UInt16) throws -> PrivateCluster {
        let line = try String(contentsOfFile: "\(directory)/pgpass", encoding: .utf8)
        let password = line.split(separator: "\n").first?.split(separator: ":").last.map(String.init) ?? ""
        var options = ClusterOptions()
        options.isEphemeral = false
        return PrivateCluster(
            directory: directory, port: port, password: password, programs: try ServerPrograms.locate(),
            options: options)
    }

    /// Stops the server; deletes the directory of an ephemeral cluster. Harmless when it is not running.
    package func stop() async throws {
        try await halt()
        if options.isEphemeral { try? FileManager.default.removeItem(atPath: directory) }
    }

    /// Stops the server as an administrator does (`pg_ctl restart -m fast`) and starts it on the same port; starts it
    /// if it was killed.
    package func restart() async throws {
        try await halt()
        try await launch()
    }

    /// Kills every process of the server with SIGKILL, as a power cut would. `restart()` brings it back.
    package func kill9() async throws {
        guard let supervisor else { throw PrivateClusterError.notRunning }
        try signalAll(SIGKILL)
        self.supervisor = nil
        try await onOwnThread { try supervisor.stop() }
        unlink("\(directory)/data/postmaster.pid")  // it would name a process that is known to be gone
    }

    /// Freezes every process of the server (SIGSTOP): connections stay open, nothing answers.
    package func suspend() throws { try signalAll(SIGSTOP) }

    /// Lets a suspended server run on (SIGCONT).
    package func resume() throws { try signalAll(SIGCONT) }

    /// Changes settings that take effect without a restart; they outlive one.
    ///
    /// When it returns, every new session has the new values, and every process of the server has been told.
    func configure(_ settings: [String: String]) async throws {
        changes.merge(settings) { _, new in new }
        try writeConfiguration()
        try await psql("SELECT pg_reload_conf();")
        // A session is born with the values that its parent had, and the parent tells its children when it takes them.
        for (name, value) in settings { try await until("SHOW \(name);", answers: value) }
    }

    // MARK: Processes

    /// Replaces all data, while the server does not run; takes back all changes of settings.
    func replaceData(_ fill: @escaping @Sendable () throws -> Void) async throws {
        try await halt()
        changes = [:]
        try? FileManager.default.removeItem(atPath: "\(directory)/data")
        try await onOwnThread(fill)
        try await launch()
    }

    private func halt() async throws {
        guard let supervisor else { return }
        self.supervisor = nil
        try await onOwnThread { try supervisor.stop() }
    }

    private func launch() async throws {
        let (data, log) = ("\(directory)/data", "\(directory)/log")
        try writeConfiguration()
        let server = try Supervisor(
            programs, server: [programs.path("postgres"), "-D", data], directory: directory, log: log,
            isEphemeral: options.isEphemeral)
        try await onOwnThread {
            let deadline = ContinuousClock.now + .seconds(60)
            while !Self.acceptsConnections(data: data) {
                let isGone = server.isGone(within: 10)
                guard isGone || ContinuousClock.now >= deadline else { continue }
                try server.stop()
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                let end = String(text.suffix(2000))
                throw isGone ? PrivateClusterError.serverDidNotStart(log: end) : .serverNotReady(log: end)
            }
        }
        supervisor = server
    }

    private func writeConfiguration() throws {
        var options = options
        options.settings.merge(changes) { _, changed in changed }
        try options.configuration(port: port, socketDirectory: directory)
            .write(toFile: "\(directory)/data/postgresql.conf", atomically: false, encoding: .utf8)
    }

    /// The postmaster writes its state into the eighth line of its pid file; `pg_ctl` waits for the same word.
    private static func acceptsConnections(data: String) -> Bool {
        guard let file = try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8) else { return false }
        let lines = file.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count >= 8 && lines[7].hasPrefix("ready")
    }

    /// Signals the postmaster first, so that it cannot replace a child meanwhile, then its children.
    private func signalAll(_ signal: Int32) throws {
        guard supervisor != nil,
            let file = try? String(contentsOfFile: "\(directory)/data/postmaster.pid", encoding: .utf8),
            let postmaster = file.split(separator: "\n").first.flatMap({ pid_t($0) }), postmaster > 1
        else { throw PrivateClusterError.notRunning }
        kill(postmaster, SIGSTOP)
        for child in Self.children(of: postmaster) { kill(child, signal) }
        kill(postmaster, signal)
    }

    private static func children(of parent: pid_t) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                let name = stat.lastIndex(of: ")")  // pid (name) state ppid …; a name may hold anything
            else { return false }
            let fields = stat[name...].split(separator: " ")
            return fields.count > 2 && fields[2] == String(parent)
        }
    }
}
