import PostgresClient
import PrivateCluster
import Testing

@Suite(.timeLimit(.minutes(1))) struct NotificationTests {
    private static let notify = Statement("SELECT pg_notify('a \"channel\"', $1)")
    private static let listeners = Statement(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")

    @Test func notificationsArriveInOrderAndAfterAReconnect() async throws {
        try await withPool { pool, _ in
            var events = pool.notifications(on: "a \"channel\"").makeAsyncIterator()
            #expect(await events.next() == .listening)
            for payload in ["one", "zwölf", ""] { _ = try await pool.query(Self.notify, .text(payload)) }
            #expect(await events.next() == .notification(payload: "one"))
            #expect(await events.next() == .notification(payload: "zwölf"))
            #expect(await events.next() == .notification(payload: ""))

            let pid = try await pool.query(Self.listeners)[0].int32(0)
            _ = try await pool.query(Statement("SELECT pg_terminate_backend($1)"), .int32(pid))
            #expect(await events.next() == .listening)
            _ = try await pool.query(Self.notify, .text("again"))
            #expect(await events.next() == .notification(payload: "again"))
        }
    }

    @Test func streamEndsWithThePool() async throws {
        let pool = try await PrivateCluster.shared.pool(size: 1)
        var events = pool.notifications(on: "channel").makeAsyncIterator()
        #expect(await events.next() == .listening)
        await pool.shutdown()
        #expect(await events.next() == nil)
        var late = pool.notifications(on: "channel").makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test func connectionGoesWithTheStream() async throws {
        try await withPool { pool, _ in
            do {
                var events = pool.notifications(on: "channel").makeAsyncIterator()
                let first = await events.next()
                #expect(first == .listening)
                let count = try await pool.query(Self.listeners).count
                #expect(count == 1)
            }
            while try await !pool.query(Self.listeners).isEmpty {}
        }
    }
}
