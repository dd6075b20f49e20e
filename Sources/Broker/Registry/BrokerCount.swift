package import PostgresClient

/// The broker's count in the database. See ``DatabaseHistory``.
package enum BrokerCount {
    /// $1 the broker's id. Its number, or NULL; the newest acceptance, and the start of the server.
    package static let look = Statement("SELECT number, accepted_at, started_at FROM native_sso.broker_number($1)")
    /// $1 the broker's id, $2 the number that it knows, $3 whether it can answer requests. The new number; NULL: the database lacks
    /// the known one.
    package static let count = Statement("SELECT native_sso.count_broker($1, $2, $3)")
}
