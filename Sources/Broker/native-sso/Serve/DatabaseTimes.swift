import BrokerHTTP
import HTTPServer
import PostgresClient

/// The time of database calls by their kind, from the call to the answer: waiting, running and committing.
final class DatabaseTimes: MetricSource {
    enum Call: String, CaseIterable {
        case exchange, refresh, handoff, enrolment, code, assertion, logout, revocation, audit
    }

    fileprivate final class Sum: Sendable {
        let calls = Counter()
        let failures = Counter()
        let microseconds = Counter()
    }

    private let sums: [Call: Sum]

    init() { sums = Dictionary(Call.allCases.map { ($0, Sum()) }) { first, _ in first } }

    /// The same database, measured.
    func measuring(_ call: Call, on database: any StatementExecutor) -> any StatementExecutor {
        sums[call].map { MeasuredExecutor(database: database, sum: $0) } ?? database
    }

    var samples: [MetricSample] {
        let all = Call.allCases.compactMap { call in sums[call].map { (MetricSample.Label("call", call.rawValue), $0) }
        }
        return MetricSample.each(
            "database_calls_total", "Calls to the database by kind.", .counter,
            all.map { ($0, Double($1.calls.value)) })
            + MetricSample.each(
                "database_call_failures_total", "Calls that the database did not answer, by kind.", .counter,
                all.map { ($0, Double($1.failures.value)) })
            + MetricSample.each(
                "database_call_seconds_total", "Time of these calls: waiting, running and committing.", .counter,
                all.map { ($0, Double($1.microseconds.value) / 1_000_000) })
    }
}

private struct MeasuredExecutor: StatementExecutor {
    let database: any StatementExecutor
    let sum: DatabaseTimes.Sum

    func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        let start = ContinuousClock.now
        defer {
            let (seconds, attoseconds) = (ContinuousClock.now - start).components
            sum.calls.add()
            sum.microseconds.add(seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
        }
        do throws(PostgresError) {
            return try await database.query(statement, parameters, locking: row)
        } catch {
            sum.failures.add()
            throw error
        }
    }
}
