import ArgumentParser
import FoundationEssentials
import Glibc
import NativeSSO
import OAuthWire
import PostgresClient
import Registry
import Synchronization

extension GlobalOptions {
    /// Runs a command with the registry.
    /// - Parameter patience: For one statement.
    func administer<Value: Sendable>(
        patience: Duration = .seconds(30), _ body: (Administration) async throws -> Value
    ) async throws -> Value {
        try await read { $0.database() }.administer(within: .seconds(5), patience: patience, body)
    }

    /// - Parameter id: Of an act that this one goes on with; `nil`: a new one.
    func act(_ why: ReasonOption, _ id: UniqueID? = nil) -> AdministrativeAct {
        var randomness = SystemRandomNumberGenerator()
        return AdministrativeAct(
            actor: Operator.name(environment: ProcessInfo.processInfo.environment), reason: why.reason,
            requestID: id
                ?? .timeOrdered(milliseconds: UInt64(clamping: SystemClock().milliseconds), using: &randomness))
    }
}

extension Configuration.Database {
    /// - Parameters:
    ///   - wait: How long to wait for a connection.
    ///   - patience: For one statement.
    func administer<Value: Sendable>(
        within wait: Duration, patience: Duration = .seconds(30),
        _ body: (Administration) async throws -> Value
    ) async throws -> Value {
        var connection = try connection(pool: 1)
        // A person waits. A longer wait is better than a request to try again.
        connection.callDeadline = patience
        connection.lockTimeout = .seconds(10)
        connection.statementTimeout = patience * 2
        connection.queueWait = .seconds(5)
        let failure = ConnectionFailure()
        let pool = ConnectionPool(connection) { failure.note($0) }
        let result: Result<Value, any Error>
        do {
            do throws(PostgresError) {
                try await pool.waitUntilConnected(within: wait)
            } catch {
                throw CommandFailure(error, connecting: failure.message)
            }
            result = .success(try await body(Administration(pool: pool)))
        } catch {
            result = .failure(error)
        }
        await pool.shutdown()
        return try result.get()
    }

    /// How to reach the database.
    func connection(pool: Int) throws(CommandFailure) -> PostgresConfiguration {
        do throws(PostgresConfigurationError) {
            var connection = try PostgresConfiguration(uri: url, password: password.map { PostgresPassword($0.secret) })
            connection.poolSize = pool
            return connection
        } catch {
            throw .infrastructure(error.description)
        }
    }
}

/// A command that opens the registry, and shows one result.
protocol RegistryCommand: AsyncParsableCommand {
    associatedtype Shown: CommandResult & Sendable
    var options: GlobalOptions { get }
    func result(_ registry: Administration) async throws -> Shown
}

extension RegistryCommand {
    func run() async throws {
        let shown = try await options.administer { try await result($0) }
        try options.output.show(shown)
    }
}

/// Remembers why the last attempt to connect to the database failed.
final class ConnectionFailure: Sendable {
    private let last = Mutex<String?>(nil)

    /// The last message of libpq; `nil`: none.
    var message: String? { last.withLock(\.self) }

    func note(_ event: ConnectionEvent) {
        if case .connectFailed(_, _, _, let message?) = event { last.withLock { $0 = message } }
    }
}

/// The person who runs a command, as the audit records them.
enum Operator {
    /// The user of the process, and the user who called `sudo`, if any: `native-sso (sudo alice)`.
    static func name(environment: [String: String]) -> String {
        let user = userName(geteuid())
        guard let person = environment["SUDO_USER"], !person.isEmpty, person != user else { return user }
        // The caller can set the variable to anything, and operators read the audit on terminals.
        return "\(user) (sudo \(TerminalText.escaped(String(person.prefix(64)))))"
    }

    private static func userName(_ id: uid_t) -> String {
        guard let entry = getpwuid(id), let name = entry.pointee.pw_name else { return "uid \(id)" }
        return String(cString: name)
    }
}
