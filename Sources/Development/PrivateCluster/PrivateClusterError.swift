/// Why a private cluster could not be started or asked.
package enum PrivateClusterError: Error, CustomStringConvertible, Equatable {
    /// No `initdb` and `postgres` on this machine.
    case serverNotInstalled
    /// The program runs as root, PostgreSQL refuses root, and there is no account to hand over to.
    case noUnprivilegedAccount
    /// The path of the Unix socket would exceed what the system allows (107 bytes).
    case directoryPathTooLong(String)
    /// The directory holds something that is no cluster of this kind.
    case directoryNotEmpty(String)
    /// A name that is not a plain lower-case identifier.
    case unusableName(String)
    /// A system call failed while a process or a file was prepared.
    case system(call: String, errno: Int32)
    /// A program of the server package failed; `output` is the end of what it said.
    case programFailed(name: String, status: Int32, output: String)
    /// A program of the server package had not ended in time, and was killed.
    case programDidNotEnd(name: String, limit: Duration, output: String)
    /// The server ended before it accepted connections; `log` is the end of its log.
    case serverDidNotStart(log: String)
    /// The server accepted no connections within a minute, and was stopped.
    case serverNotReady(log: String)
    /// The server was asked to stop, and something of it is still there.
    case serverDidNotStop(String)
    /// The operation needs a running server.
    case notRunning
    /// Within a minute the server did not come to answer this as it should.
    case neverHappened(String)

    package var description: String {
        switch self {
        case .serverNotInstalled:
            "No PostgreSQL server was found below /usr/lib/postgresql or by pg_config. On Debian: apt install postgresql"
        case .noUnprivilegedAccount:
            "PostgreSQL refuses to run as root, and there is no account `postgres` or no `setpriv` to change to it."
        case .directoryPathTooLong(let path):
            "The directory \(path) is too long for a Unix socket: choose one of at most 80 bytes."
        case .directoryNotEmpty(let path):
            "The directory \(path) holds something else: choose an empty one, or one that does not exist."
        case .unusableName(let name):
            "\(name) is not a plain name of lower-case letters, digits and underscores."
        case .system(let call, let errno): "\(call) failed with errno \(errno)."
        case .programFailed(let name, let status, let output): "\(name) ended with status \(status): \(output)"
        case .programDidNotEnd(let name, let limit, let output):
            "\(name) did not end within \(limit), and was killed: \(output)"
        case .serverDidNotStart(let log): "The server ended before it accepted connections: \(log)"
        case .serverNotReady(let log): "The server accepted no connections within a minute: \(log)"
        case .serverDidNotStop(let what): "The server did not stop: \(what)"
        case .notRunning: "The private cluster is not running."
        case .neverHappened(let question): "The server never came to that: \(question)"
        }
    }
}
