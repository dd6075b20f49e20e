import NativeSSO
import PostgresClient

extension PortError {
    /// Calls the database; whatever keeps it from answering is an outage, never a refusal.
    static func database<Value: Sendable>(
        _ call: () async throws(PostgresError) -> Value
    ) async throws(PortError) -> Value {
        do throws(PostgresError) {
            return try await call()
        } catch {
            throw PortError(error)
        }
    }

    init(_ error: PostgresError) {
        switch error {
        case .unavailable, .outcomeUnknown: self = .outage(Outage(.database, "\(error)"))
        case .server(let state, _, _) where state.isTransient || state.isMissingSchema:
            self = .outage(Outage(.database, "\(error)"))
        case .server, .unexpectedResult: self = .broken("\(error)")
        }
    }
}
