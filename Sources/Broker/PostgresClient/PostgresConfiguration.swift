/// Connection settings and time limits of the database client.
package struct PostgresConfiguration: Sendable {
    /// Connection parameters of libpq, without the password.
    let parameters: [String: String]
    /// Separate from the URI, so that the URI can be shown.
    let password: PostgresPassword?

    /// Shown in `pg_stat_activity`.
    package var applicationName = "native-sso"
    /// Connections, each on its own thread.
    package var poolSize = 8
    /// Until then after the start, a connection is opened only when calls wait and no open one is idle.
    package var warmUp: Duration = .seconds(1)
    /// Per host, from the first packet until the session is usable.
    package var connectTimeout: Duration = .seconds(2)
    /// Per call, from its start. After that the client closes the connection, and the outcome is unknown.
    package var callDeadline: Duration = .milliseconds(1500)
    /// Maximum wait for a free connection. At most four calls per connection of a pool wait.
    package var queueWait: Duration = .milliseconds(250)
    /// The server's `lock_timeout`.
    package var lockTimeout: Duration = .seconds(1)
    /// The server's `statement_timeout`. It is longer than the deadline and ends abandoned statements.
    package var statementTimeout: Duration = .seconds(3)
    /// The server's `idle_in_transaction_session_timeout`.
    package var idleInTransactionTimeout: Duration = .seconds(5)
    /// Additional server settings for these sessions, by name. They override those of the connection URI.
    package var sessionSettings: [String: String] = [:]
    /// Accept only a writable server. The broker never reads session state from a standby.
    package var requiresWritable = true

    /// - Parameter uri: A libpq connection URI or keyword string. Several hosts are tried in turn.
    package init(uri: String, password: PostgresPassword? = nil) throws(PostgresConfigurationError) {
        guard let parameters = ConnectionURI.parse(uri) else { throw .malformedURI }
        guard parameters["password"] == nil else { throw .passwordInURI }
        self.parameters = parameters
        self.password = password
    }
}

/// A database password. Prints as `****`.
package struct PostgresPassword: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let secret: String

    package init(_ secret: String) { self.secret = secret }

    package var description: String { "****" }
    package var debugDescription: String { "****" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a connection URI was refused. Never quotes it, because it may contain a password.
package enum PostgresConfigurationError: Error, Sendable, CustomStringConvertible {
    case malformedURI
    case passwordInURI

    package var description: String {
        switch self {
        case .malformedURI: "The database URI is not one that libpq understands (postgresql://user@host:port/name)."
        case .passwordInURI: "The database URI holds a password: give the password separately, from a file."
        }
    }
}
