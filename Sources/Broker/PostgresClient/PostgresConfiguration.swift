/// Connection settings and time limits of the database client.
public struct PostgresConfiguration: Sendable {
    /// Connection parameters of libpq, without the password.
    let parameters: [String: String]
    /// Separate from the URI, so that the URI can be shown.
    let password: PostgresPassword?

    /// Shown in `pg_stat_activity`.
    public var applicationName = "native-sso"
    /// Connections, each on its own thread.
    public var poolSize = 8
    /// Per host, from the first packet until the session is usable.
    public var connectTimeout: Duration = .seconds(2)
    /// Per call, from its start. After that the client closes the connection, and the outcome is unknown.
    public var callDeadline: Duration = .milliseconds(1500)
    /// Maximum wait for a free connection. At most four calls per connection of a pool wait.
    public var queueWait: Duration = .milliseconds(250)
    /// The server's `lock_timeout`.
    public var lockTimeout: Duration = .seconds(1)
    /// The server's `statement_timeout`. It is longer than the deadline and ends abandoned statements.
    public var statementTimeout: Duration = .seconds(3)
    /// The server's `idle_in_transaction_session_timeout`.
    public var idleInTransactionTimeout: Duration = .seconds(5)
    /// Additional server settings for these sessions, by name. They override those of the connection URI.
    public var sessionSettings: [String: String] = [:]
    /// Accept only a writable server. The broker never reads session state from a standby.
    public var requiresWritable = true
    /// Refuse another cluster, and an older state of the known one. Applies within one process.
    public var refusesOlderState = true

    /// - Parameter uri: A libpq connection URI or keyword string. Several hosts are tried in turn.
    public init(uri: String, password: PostgresPassword? = nil) throws(PostgresConfigurationError) {
        guard let parameters = ConnectionURI.parse(uri) else { throw .malformedURI }
        guard parameters["password"] == nil else { throw .passwordInURI }
        self.parameters = parameters
        self.password = password
    }

    /// Maximum waiting calls per connection of a pool.
    var callsPerConnection = 4

    var queueLimit: Int { callsPerConnection * max(poolSize, 1) }
}

/// A database password. Prints as `****`.
public struct PostgresPassword: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let secret: String

    public init(_ secret: String) { self.secret = secret }

    public var description: String { "****" }
    public var debugDescription: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a connection URI was refused. Never quotes it, because it may contain a password.
public enum PostgresConfigurationError: Error, Sendable, CustomStringConvertible {
    case malformedURI
    case passwordInURI

    public var description: String {
        switch self {
        case .malformedURI: "The database URI is not one that libpq understands (postgresql://user@host:port/name)."
        case .passwordInURI: "The database URI holds a password: give the password separately, from a file."
        }
    }
}
