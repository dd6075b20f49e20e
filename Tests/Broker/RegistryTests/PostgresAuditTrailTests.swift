import Glibc
import NativeSSO
import PostgresClient
import PrivateCluster
import Registry
import Synchronization
import Testing

@Suite("Audit of refusals", .serialized)
struct PostgresAuditTrailTests {
    /// The database runs on this machine.
    private static let instant = Int64(time(nil)) * 1000 - 59_877

    private static func event(
        _ number: UInt64, client: ClientID? = nil, reason: String = "session_ended"
    ) -> AuditEvent {
        AuditEvent(
            kind: .exchangeRefused, requestID: UniqueID(high: 7, low: number),
            occurredAtMilliseconds: instant,
            client: client, reason: reason, trace: number == 3 ? UniqueID(high: 9, low: 10) : nil)
    }

    @Test("Every event is written with its request, time, client and reason")
    func writes() async throws {
        try await TestDatabase.withFixture { database in
            let trail = PostgresAuditTrail(database: database.service) { _ in Issue.record("lost events") }
            for number in UInt64(0)..<600 {
                trail.record(Self.event(number, client: number == 3 ? ClientID(validated: "app-one") : nil))
            }
            trail.finish()
            await trail.run()
            let rows = try await database.run(Self.read, [])
            #expect(rows.count == 600)
            #expect(try rows.map { try $0.uuid(0) } == (UInt64(0)..<600).map { UniqueID(high: 7, low: $0).octets })
            #expect(try rows[3].optionalText(1) == "app-one")
            #expect(try rows[4].optionalText(1) == nil)
            #expect(try rows[3].uuid(5) == UniqueID(high: 9, low: 10).octets)
            #expect(try rows[4].isNull(5))
            #expect(try rows[0].text(2) == "session_ended")
            #expect(try rows[0].text(3) == "exchange_refused")
            #expect(try rows[0].timestamp(4).microseconds == Self.instant * 1000)
        }
    }

    @Test("The service role can record refusals, but no administrative, future or past event")
    func forgesNothing() async throws {
        try await TestDatabase.withFixture { database in
            for days in [-400, 40] as [Int32] { _ = try await database.service.query(Self.forge, [.int32(days)]) }
            let rows = try await database.run(Self.forged, [])
            #expect(try rows.map { try $0.text(0) } == ["request_refused", "request_refused"])
            #expect(try rows.map { try $0.bool(1) } == [true, true])
        }
    }

    /// A kind of each statement that acts, and one that a pattern might let through.
    private static let forge = Statement(
        """
        SELECT native_sso.record_audit(
            array_fill(now() + make_interval(days => $1), ARRAY[5]),
            '{session_ended,client_added,request_refused,refused,request_refused_not}',
            array_fill(gen_random_uuid(), ARRAY[5]), array_fill(''::text, ARRAY[5]), array_fill('x'::text, ARRAY[5]))
        """)
    private static let forged = Statement(
        "SELECT kind, occurred_at BETWEEN now() - interval '25 hours' AND now() FROM native_sso.audit_event")

    @Test("One call records a bounded number of events")
    func isBounded() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await database.service.query(Self.flood, [])
            #expect(try await database.run(Self.forged, []).count == 1000)
        }
    }

    private static let flood = Statement(
        """
        SELECT native_sso.record_audit(
            array_fill(now(), ARRAY[2000]), array_fill('request_refused'::text, ARRAY[2000]),
            array_fill(gen_random_uuid(), ARRAY[2000]), array_fill(''::text, ARRAY[2000]),
            array_fill('x'::text, ARRAY[2000]))
        """)

    @Test("Events wait for the database until the stop; what is dropped is counted", arguments: [true, false])
    func waits(untilItIsBack: Bool) async throws {
        try await TestDatabase.withFixture { database in
            let flaky = FlakyExecutor(database: database.service)
            let lost = Mutex(0)
            let trail = PostgresAuditTrail(database: flaky, capacity: 5, retryDelay: .milliseconds(1)) { count in
                lost.withLock { $0 += count }
            }
            for number in UInt64(0)..<8 { trail.record(Self.event(number)) }
            let writer = Task { await trail.run() }
            await flaky.failed(times: 2)  // it has tried again by itself
            if untilItIsBack { flaky.recover() }
            trail.finish()
            await writer.value
            let rows = try await database.run(Self.read, [])
            let written = untilItIsBack ? UInt64(0)..<5 : 0..<0
            #expect(try rows.map { try $0.uuid(0) } == written.map { UniqueID(high: 7, low: $0).octets })
            #expect(lost.withLock { $0 } == 8 - written.count)
        }
    }

    @Test("An event that the database refuses is lost and counted, and the others are written")
    func refusedEvent() async throws {
        try await TestDatabase.withFixture { database in
            _ = try await database.cluster.psql(
                "ALTER TABLE native_sso.audit_event ADD CHECK (reason <> 'not stored')", database: database.name)
            let lost = Mutex(0)
            let trail = PostgresAuditTrail(database: database.service) { count in lost.withLock { $0 += count } }
            for number in UInt64(0)..<6 {
                let reason = [1: "no\0text", 4: "not stored"][number] ?? "session_ended"
                trail.record(Self.event(number, reason: reason))
            }
            trail.finish()
            await trail.run()
            let rows = try await database.run(Self.read, [])
            let written: [UInt64] = [0, 2, 3, 5]
            #expect(try rows.map { try $0.uuid(0) } == written.map { UniqueID(high: 7, low: $0).octets })
            #expect(lost.withLock { $0 } == 2)
        }
    }

    private static let read = Statement(
        "SELECT request_id, client_id, reason, kind, occurred_at, trace_id FROM native_sso.audit_event ORDER BY request_id"
    )
}

/// Refuses every call until told to stop, and says when it has.
private final class FlakyExecutor: StatementExecutor {
    private let database: ConnectionPool
    private let isAway = Atomic(true)
    private let failures: AsyncStream<Void>
    private let failure: AsyncStream<Void>.Continuation

    init(database: ConnectionPool) {
        self.database = database
        (failures, failure) = AsyncStream.makeStream()
    }

    func query(
        _ statement: Statement, _ parameters: EncodedParameters, locking row: RowKey
    ) async throws(PostgresError) -> [Row] {
        guard !isAway.load(ordering: .sequentiallyConsistent) else {
            failure.yield()
            throw .unavailable(.connectFailed)
        }
        return try await database.query(statement, parameters, locking: row)
    }

    func failed(times: Int) async {
        var iterator = failures.makeAsyncIterator()
        for _ in 0..<times { await iterator.next() }
    }

    func recover() { isAway.store(false, ordering: .sequentiallyConsistent) }
}
