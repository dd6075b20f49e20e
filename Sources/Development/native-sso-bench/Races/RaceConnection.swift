import Dispatch
import PostgresClient
import Synchronization

/// What became of the step of an actor.
enum RaceEvent: Sendable {
    case answered(actor: Int, [Row])
    case committed(actor: Int)
    case failed(actor: Int, PostgresError)
    /// Time passes.
    case tick
}

/// One connection whose transaction goes on when it is told to.
final class RaceConnection: Sendable {
    enum Order: Sendable {
        case query(Statement, [PostgresValue])
        case commit
    }

    /// The server's process.
    let process: Int32
    private let pool: ConnectionPool
    private let orders = Mutex<[Order]>([])
    private let arrived = DispatchSemaphore(value: 0)

    init(_ configuration: PostgresConfiguration) async throws {
        var configuration = configuration
        configuration.poolSize = 1
        pool = ConnectionPool(configuration)
        process = try await pool.query(RaceStatements.ownProcess).first?.int32(0) ?? 0
    }

    func shutdown() async { await pool.shutdown() }

    func send(_ order: Order) {
        orders.withLock { $0.append(order) }
        arrived.signal()
    }

    /// Begins a transaction that waits for commands. It ends with a commit command or a failure.
    func begin(_ actor: Int, report: @escaping @Sendable (RaceEvent) -> Void) {
        Task {
            do throws(PostgresError) {
                try await pool.withTransaction(deadline: .seconds(60)) { transaction throws(PostgresError) in
                    while case .query(let statement, let parameters) = self.next() {
                        report(.answered(actor: actor, try transaction.query(statement, parameters)))
                    }
                }
                report(.committed(actor: actor))
            } catch {
                report(.failed(actor: actor, error))
            }
        }
    }

    private func next() -> Order {
        arrived.wait()
        return orders.withLock { $0.removeFirst() }
    }
}
