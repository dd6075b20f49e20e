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

    init(in directory: WorkingDirectory) async throws {
        var options = ClusterOptions()
        options.isEphemeral = true
        options.maxConnections = 400
        let quarter = ProcessInfo.processInfo.physicalMemory >> 22
        options.settings = [
            "shared_buffers": "\(min(max(quarter, 128), 8192))MB", "max_wal_size": "8GB",
            // The server's own default; a private cluster wants to hear of its owner's death.
            "client_connection_check_interval": "0",
        ]
        server = try await PrivateCluster.start(directory: "\(directory.path)/postgresql", options: options)
        processes = try ServerProcesses(cluster: server.directory)
        var configuration = try PostgresConfiguration(
            uri: server.superuserURI, password: PostgresPassword(server.password))
        configuration.poolSize = 1
        configuration.callDeadline = .seconds(60)
        observer = ConnectionPool(configuration)
        try await observer.waitUntilConnected(within: .seconds(10))
    }

    func stop() async throws {
        await observer.shutdown()
        try await server.stop()
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
    func walPosition() async throws -> Int64 { try await observer.query(Self.wal).first?.int64(0) ?? 0 }

    /// A setting as the server shows it.
    func setting(_ name: String) async throws -> String { try await sql("SHOW \(name);") }

    private static let wal = Statement("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
}
