import Foundation
import Glibc

/// Where the server's programs are, and the account that may run them.
struct ServerPrograms: Sendable {
    let directory: String
    let account: Account?

    /// The account that root hands over to: PostgreSQL refuses to run as root.
    struct Account: Sendable {
        let name: String
        let user: uid_t
        let group: gid_t
        let setpriv: String
    }

    static func locate() throws -> ServerPrograms {
        guard let directory = newestPackaged() ?? named(byPgConfig: "/usr/bin/pg_config") else {
            throw PrivateClusterError.serverNotInstalled
        }
        guard geteuid() == 0 else { return ServerPrograms(directory: directory, account: nil) }
        let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].first { access($0 as String, X_OK) == 0 }
        guard let setpriv, let entry = getpwnam("postgres")?.pointee else {
            throw PrivateClusterError.noUnprivilegedAccount
        }
        let account = Account(name: "postgres", user: entry.pw_uid, group: entry.pw_gid, setpriv: setpriv)
        return ServerPrograms(directory: directory, account: account)
    }

    /// The arguments that run a program as the server's account.
    func asServer(_ arguments: [String]) -> [String] {
        guard let account else { return arguments }
        return [account.setpriv, "--reuid=\(account.name)", "--regid=\(account.group)", "--init-groups", "--"]
            + arguments
    }

    func path(_ program: String) -> String { "\(directory)/\(program)" }

    private static func newestPackaged() -> String? {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { name in Int(name).map { (version: $0, directory: "\(root)/\(name)/bin") } }
            .sorted { $0.version > $1.version }.map(\.directory).first(where: holdsServer)
    }

    private static func named(byPgConfig program: String) -> String? {
        guard access(program, X_OK) == 0,
            let found = try? ClusterProgram.run([program, "--bindir"], name: "pg_config")
        else { return nil }
        let directory = found.trimmingCharacters(in: .whitespacesAndNewlines)
        return holdsServer(directory) ? directory : nil
    }

    private static func holdsServer(_ directory: String) -> Bool {
        ["initdb", "postgres", "psql"].allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
    }
}
