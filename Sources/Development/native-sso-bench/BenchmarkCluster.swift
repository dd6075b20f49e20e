import BrokerHarness
import Foundation
import PostgresClient
import PrivateCluster

/// The PostgreSQL of a run, set up as one for production: flushes to disk, a quarter of the memory for its buffers.
final class BenchmarkCluster: Sendable {
    let server: PrivateCluster
    let processes: ServerProcesses
    /// One session of our own, for what the server counts.
    private let observer: ConnectionPool

    /// Starts one.
    convenience init(in directory: WorkingDirectory) async throws {
        var options = ClusterOptions()
        options.isEphemeral = true
        options.maxConnections = 400
        let quarter = ProcessInfo.processInfo.physicalMemory >> 22
        options.settings = [
            "shared_buffers": "\(min(max(quarter, 128), 8192))MB", "max_wal_size": "8GB",
            // The server's own default; a private cluster wants to hear of its owner's death.
            "client_connection_check_interval": "0",
        ]
        try await self.init(
            try await PrivateCluster.start(directory: "\(directory.path)/postgresql", options: options))
    }

    init(_ server: PrivateCluster) async throws {
        self.server = server
        processes = try ServerProcesses(cluster: server.directory)
        var configuration = try PostgresConfiguration(
            uri: server.superuserURI, password: PostgresPassword(server.password))
        configuration.poolSize = 1
        configuration.callDeadline = .seconds(60)
        observer = ConnectionPool(configuration)
        try await observer.waitUntilConnected(within: .seconds(10))
    }

    func stop() async throws {
        try await ending {
            try await close()
        } with: {
            try await server.stop()
        }
    }

    /// Ends the session of our own, and leaves the server alone.
    func close() async throws {
        try await Program.wait(for: "the end of our own session with PostgreSQL") { [observer] in
            await observer.shutdown()
        }
    }

    /// Runs SQL as the superuser, each statement by itself; the rows, a line each.
    /// - Parameter limit: Half an hour, for a million rows on a slow disk.
    @discardableResult
    func sql(
        _ script: String, database: String = PrivateCluster.superuser, within limit: Duration = .seconds(1800)
    ) async throws -> String {
        try await server.psql(script, database: database, within: limit)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Octets of write-ahead log since the cluster was made.
    func walPosition() async throws -> Int64 { try await number(Self.wal) }

    /// Where its files are.
    var walDirectory: String { "\(server.directory)/data/pg_wal" }

    /// The position up to which it is on the disk.
    func flushedPosition() async throws -> Int64 { try await number(Self.flushed) }

    /// Transactions that were committed in a database, by sessions that have ended. For that it waits, at most 30 s.
    func commits(in database: String) async throws -> Int64 {
        let deadline = ContinuousClock.now + .seconds(30)
        while case let sessions = try await observer.query(Self.sessions, .text(database)), !sessions.isEmpty {
            guard ContinuousClock.now < deadline else {
                let names = try sessions.map { try $0.text(0) }.joined(separator: "\n")
                throw ManagedProcess.Failure(description: "sessions of \(database) did not end within 30 s:\n\(names)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try await number(Self.commits, .text(database))
    }

    /// A setting as the server shows it.
    func setting(_ name: String) async throws -> String {
        try await observer.query(Self.setting, .text(name)).first?.text(0) ?? ""
    }

    /// The directory of the server's programs.
    func programs() async throws -> String { try await observer.query(Self.bindir).first?.text(0) ?? "" }

    private func number(_ statement: Statement, _ parameters: PostgresValue...) async throws -> Int64 {
        try await observer.query(statement, parameters).first?.int64(0) ?? 0
    }

    private static let wal = Statement("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
    private static let flushed = Statement("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
    private static let sessions = Statement(
        """
        SELECT format('pid %s, application_name "%s", state %s, query start %s', pid, application_name, state, query_start)
        FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend' ORDER BY pid
        """)
    private static let commits = Statement("SELECT xact_commit FROM pg_stat_database WHERE datname = $1")
    private static let setting = Statement("SELECT current_setting($1)")
    private static let bindir = Statement("SELECT setting FROM pg_config WHERE name = 'BINDIR'")
}
