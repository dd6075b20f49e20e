import Foundation
import Glibc

/// The directory of one cluster: `data`, `log`, `pgpass`, and the Unix socket.
struct ClusterDirectory: Sendable {
    let path: String
    private let programs: ServerPrograms

    init(_ chosen: String?, programs: ServerPrograms) throws {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        path =
            chosen.map { URL(filePath: $0).standardizedFileURL.path }
            ?? "\(FileManager.default.temporaryDirectory.path)/private-cluster-\(random)"
        self.programs = programs
        // sun_path holds 107 bytes and a NUL; the socket's own name takes up to 15.
        guard path.utf8.count <= 90 else { throw PrivateClusterError.directoryPathTooLong(path) }
    }

    /// Makes the cluster, or uses the existing one. Returns the superuser's password.
    func initialize(options: ClusterOptions) throws -> String {
        if FileManager.default.fileExists(atPath: "\(path)/data/PG_VERSION") { return try storedPassword() }
        // The directory gets a new owner, so it must not hold other files.
        guard (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty != false else {
            throw PrivateClusterError.directoryNotEmpty(path)
        }
        var generator = SystemRandomNumberGenerator()
        let password = (0..<2).map { _ in String(generator.next() as UInt64, radix: 36) }.joined()
        try prepare(password: password)
        let initial = "\(path)/initial-password"
        try writeSecret(password + "\n", to: initial)
        defer { unlink(initial) }
        _ = try ClusterProgram.run(
            programs.asServer(
                [
                    programs.path("initdb"), "-D", "\(path)/data", "-U", PrivateCluster.superuser,
                    "--pwfile=\(initial)", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums",
                ] + (options.fsync ? [] : ["--no-sync"])), name: "initdb")
        return password
    }

    /// Makes the directory, with the password file in it and no data.
    func prepare(password: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try handOver(path)
        try writeSecret("*:*:*:\(PrivateCluster.superuser):\(password)\n", to: "\(path)/pgpass")
    }

    private func storedPassword() throws -> String {
        let line = try String(contentsOfFile: "\(path)/pgpass", encoding: .utf8)
        return String(line.trimmingCharacters(in: .newlines).split(separator: ":").last ?? "")
    }

    private func writeSecret(_ text: String, to file: String) throws {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PrivateClusterError.system(call: "open", errno: errno) }
        defer { close(descriptor) }
        guard write(descriptor, text, text.utf8.count) == text.utf8.count else {
            throw PrivateClusterError.system(call: "write", errno: errno)
        }
        try handOver(file)
    }

    private func handOver(_ file: String) throws {
        guard let account = programs.account else { return }
        guard chown(file, account.user, account.group) == 0 else {
            throw PrivateClusterError.system(call: "chown", errno: errno)
        }
    }
}
