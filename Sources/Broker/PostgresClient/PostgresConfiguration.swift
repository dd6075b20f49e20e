/// How to reach the database, and how long anything may take.
public struct PostgresConfiguration: Sendable {
    /// Connection parameters of libpq, without the password.
    let parameters: [String: String]
    /// Apart from the URI, so that the URI can be shown.
    let password: PostgresPassword?

    /// Shown in `pg_stat_activity`.
    public var applicationName = "native-sso"
    /// Connections, each on a thread of its own.
    public var poolSize = 8
    /// For one host, from the first packet until the session is usable.
    public var connectTimeout: Duration = .seconds(2)
    /// For one call, from the moment it is made. Past it the connection is closed and the outcome is unknown.
    public var callDeadline: Duration = .milliseconds(1500)
    /// How long a call may wait for a free connection. At most four calls per connection of a pool wait.
    public var queueWait: Duration = .milliseconds(250)
    /// The server's `lock_timeout`.
    public var lockTimeout: Duration = .seconds(1)
    /// The server's `statement_timeout`; longer than the deadline: it ends what nobody waits for any more.
    public var statementTimeout: Duration = .seconds(3)
    /// The server's `idle_in_transaction_session_timeout`.
    public var idleInTransactionTimeout: Duration = .seconds(5)
    /// Further settings of the server for these sessions, by name. They override those of the connection URI.
    public var sessionSettings: [String: String] = [:]
    /// Accept only a server that takes writes. Session state is never read from a standby.
    public var requiresWritable = true
    /// Refuse a server that is another cluster, or an older state of the same, than was met before in this process.
    public var refusesOlderState = true

    /// - Parameter uri: A libpq connection URI, or its keyword form; several hosts are tried in turn.
    public init(uri: String, password: PostgresPassword? = nil) throws(PostgresConfigurationError) {
        guard let parameters = ConnectionURI.parse(uri) else { throw .malformedURI }
        guard parameters["password"] == nil else { throw .passwordInURI }
        self.parameters = parameters
        self.password = password
    }

    /// Calls that may wait, for each connection of a pool.
    var callsPerConnection = 4

    var queueLimit: Int { callsPerConnection * max(poolSize, 1) }
}

/// A password on its way to the server. Prints as `****`.
public struct PostgresPassword: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let secret: String

    public init(_ secret: String) { self.secret = secret }

    public var description: String { "****" }
    public var debugDescription: String { "****" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// What is wrong with a connection URI. Never quotes it: a mistyped URI may show a password.
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
