public import PostgresClient

/// Why an administrative change did not happen. Nothing was changed.
public enum AdministrationError: Error, Sendable {
    case notFound(String)
    case alreadyExists(String)
    /// Against a rule of the schema; the text names the rule.
    case refused(String)
    case database(PostgresError)
    case corrupt(column: String)
}
