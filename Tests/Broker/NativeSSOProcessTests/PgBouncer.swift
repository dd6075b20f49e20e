import BrokerHarness
import Foundation
import Glibc
import PrivateCluster

/// Debian's PgBouncer in front of a cluster, on loopback.
final class PgBouncer: Sendable {
    /// Installed, or unpacked by `deploy/packages --tests`; `nil` without either.
    static var program: String? {
        [unpacked + "/usr/sbin/pgbouncer", "/usr/sbin/pgbouncer"]
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static let unpacked = Checkout.unpacked("pgbouncer").path

    let port: UInt16
    private let process: ManagedProcess
    private let directory: URL

    /// Returns when it passes queries on.
    /// - Parameters:
    ///   - settings: Lines of its section `pgbouncer`, such as `pool_mode = session`.
    ///   - users: May connect, without a password.
    init(_ settings: String, before cluster: PrivateCluster, users: [String]) async throws {
        guard let program = Self.program else {
            throw ManagedProcess.Failure(description: "there is no pgbouncer here")
        }
        port = try LoopbackPort.free()
        directory = FileManager.default.temporaryDirectory.appending(path: "pgbouncer-\(Unguessable.make().prefix(12))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
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
        let libraries = "\(Self.unpacked)/usr/lib"
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
        process = try ManagedProcess(
            program, [file.path],
            environment: ["LD_LIBRARY_PATH": folders.map { "\(libraries)/\($0)" }.joined(separator: ":")],
            log: directory.appending(path: "log"))
        _ = try await eventually("pgbouncer answers") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try? await cluster.run("psql", ["-X", "-w", "-c", "SELECT", "-d", uri(users[0], "postgres")])
        }
    }

    func kill() { process.signal(SIGKILL) }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: directory)
    }

    func uri(_ user: String, _ database: String) -> String { "postgresql://\(user)@127.0.0.1:\(port)/\(database)" }

    /// The variables with which a program connects through it.
    func environment(_ user: String, _ installation: Installation) -> [String: String] {
        ["NATIVE_SSO_DATABASE_URL": uri(user, installation.database)]
    }
}
