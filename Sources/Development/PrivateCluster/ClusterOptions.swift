/// How a private cluster is made.
package struct ClusterOptions: Sendable {
    /// Flush to disk on commit. Off is for tests only: it is faster, and a power cut destroys the cluster.
    package var fsync = true
    /// `max_connections` of the server.
    package var maxConnections = 100
    /// Delete the directory when the cluster stops, and when its owner dies.
    package var isEphemeral = false
    /// Further settings for `postgresql.conf`; they win over the ones made here.
    package var settings: [String: String] = [:]

    package init() {}

    /// For a test: quick, roomy, and gone with the process that started it.
    package static var testing: ClusterOptions {
        var options = ClusterOptions()
        options.fsync = false
        options.maxConnections = 300
        options.isEphemeral = true
        return options
    }

    /// The text of `postgresql.conf`. Statement texts and parameters stay out of the log: they hold hashes and subjects.
    func configuration(port: UInt16, socketDirectory: String) -> String {
        var all: [String: String] = [
            "listen_addresses": "127.0.0.1", "port": String(port), "unix_socket_directories": socketDirectory,
            "unix_socket_permissions": "0700", "max_connections": String(maxConnections),
            "password_encryption": "scram-sha-256", "shared_buffers": "64MB", "timezone": "UTC", "log_timezone": "UTC",
            "fsync": fsync ? "on" : "off", "full_page_writes": fsync ? "on" : "off",
            "log_statement": "none", "log_parameter_max_length": "0", "log_parameter_max_length_on_error": "0",
            "log_min_error_statement": "panic", "client_connection_check_interval": "1s", "wal_level": "replica",
        ]
        all.merge(settings) { _, chosen in chosen }
        return all.sorted { $0.key < $1.key }
            .map { "\($0.key) = '\($0.value.replacing("'", with: "''"))'\n" }.joined()
    }
}
