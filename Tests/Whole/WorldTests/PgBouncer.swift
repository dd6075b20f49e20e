import BrokerHarness
import Foundation
import Glibc
import PrivateCluster

/// Debian's PgBouncer in front of a cluster, on loopback.
final class PgBouncer: Sendable {
    let port: UInt16
    private let process: ManagedProcess

    /// Returns when it passes queries on.
    /// - Parameters:
    ///   - settings: Lines of its section `pgbouncer`, such as `pool_mode = session`.
    ///   - users: May connect, without a password.
    init(_ settings: String, before cluster: PrivateCluster, users: [String]) async throws {
        port = try LoopbackPort.free()
        let directory = URL(filePath: try WorkingDirectory(named: "pgbouncer").path)
        let (file, list) = (directory.appending(path: "pgbouncer.ini"), directory.appending(path: "users"))
        try Data(users.map { "\"\($0)\" \"\(cluster.password)\"\n" }.joined().utf8).write(to: list)
        try Data(
            """
            [databases]
            * = host=127.0.0.1 port=\(cluster.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = trust
            auth_file = \(list.path)
            \(geteuid() == 0 ? "user = postgres" : "")
            \(settings)
            """.utf8
        ).write(to: file)
        process = try ManagedProcess(
            try Software.pgbouncer.path(), [file.path],
            environment: ["LD_LIBRARY_PATH": try Software.pgbouncer.libraries()],
            log: directory.appending(path: "log"))
        _ = try await eventually("pgbouncer answers") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try? await cluster.run("psql", ["-X", "-w", "-c", "SELECT", "-d", uri(users[0], "postgres")])
        }
    }

    func kill() { process.signal(SIGKILL) }

    deinit { kill() }

    func uri(_ user: String, _ database: String) -> String { "postgresql://\(user)@127.0.0.1:\(port)/\(database)" }

    /// The variables with which a program connects through it.
    func environment(_ user: String, _ installation: Installation) -> [String: String] {
        ["NATIVE_SSO_DATABASE_URL": uri(user, installation.database)]
    }
}
