import Glibc
import NativeSSO
import PostgresClient
import Testing

@testable import Registry

@Suite("Listing the audit", .serialized)
struct AuditListTests {
    private static func refusal(_ number: UInt64, at milliseconds: Int64) -> AuditEvent {
        AuditEvent(
            kind: .exchangeRefused, requestID: UniqueID(high: 7, low: number), occurredAtMilliseconds: milliseconds,
            client: ClientID(validated: "app-two"), reason: "session_ended",
            subject: AuditSubject(
                session: UniqueID(high: 1, low: number), grant: number == 2 ? UniqueID(high: 2, low: number) : nil,
                sourceClient: ClientID(validated: "app-one")))
    }

    private func record(_ events: [AuditEvent], _ database: PostgresFixture) async {
        let trail = PostgresAuditTrail(database: database.service) { _ in Issue.record("lost events") }
        for event in events { trail.record(event) }
        trail.finish()
        await trail.run()
    }

    /// 1000 events end in one statement, with one time: a page may end among them.
    @Test("Paging returns every event once, the newest first, also at equal times")
    func pages() async throws {
        try await TestDatabase.withFixture { database in
            let now = Int64(time(nil)) * 1000 - 60_000
            let events = (0..<25).map { Self.refusal(UInt64($0), at: now + ($0 < 20 ? 0 : Int64($0))) }
            await record(events, database)
            var (seen, position): ([AuditRecord], AuditRecord.Position?) = ([], nil)
            for _ in 0..<10 {
                let page = try await database.administration.audit(AuditSelection(), limit: 3, before: position)
                seen += page
                position = page.last?.position
                if page.count < 3 { break }
            }
            #expect(seen.count == 25 && Set(seen.compactMap(\.requestID)) == Set(events.map(\.requestID)))
            #expect(seen.map(\.occurredAt) == seen.map(\.occurredAt).sorted(by: >))
        }
    }

    @Test("A listing filters by time, kind, app and session, and names login and grant")
    func selections() async throws {
        try await TestDatabase.withFixture { database in
            let now = Int64(time(nil)) * 1000 - 60_000
            await record((0..<5).map { Self.refusal(UInt64($0), at: now + Int64($0)) }, database)
            let (from, until) = (
                PostgresTimestamp(microseconds: (now + 1) * 1000), PostgresTimestamp(microseconds: (now + 3) * 1000)
            )
            let wanted: [(AuditSelection, [UInt64])] = [
                (AuditSelection(), [4, 3, 2, 1, 0]), (AuditSelection(from: from, until: until), [2, 1]),
                (AuditSelection(kind: .refreshRefused), []),
                (AuditSelection(client: ClientID(validated: "app-one")), []),
                (AuditSelection(client: ClientID(validated: "app-two")), [4, 3, 2, 1, 0]),
                (AuditSelection(sessions: [UniqueID(high: 1, low: 3)]), [3]),
            ]
            for (selection, numbers) in wanted {
                let found = try await database.administration.audit(selection, limit: 100)
                #expect(found.compactMap { $0.requestID?.low } == numbers)
            }
            let request = UniqueID(high: 7, low: 2)
            let named = try #require(try await database.administration.audit(ofRequest: request, limit: 10).first)
            #expect(named.session == UniqueID(high: 1, low: 2) && named.grant == UniqueID(high: 2, low: 2))
            #expect(named.sourceClient == ClientID(validated: "app-one"))
        }
    }

    @Test("The schema records only known kinds of event")
    func kinds() async throws {
        try await TestDatabase.withFixture { database in
            let rows = try await database.run(Self.kinds, [])
            let found = try rows.map { try $0.text(0) }
            #expect(found.count > 5)
            for kind in found { #expect(AuditKind(rawValue: kind) != nil, "\(kind)") }
            for kind in AuditEvent.Kind.allCases { #expect(AuditKind(rawValue: kind.rawValue) != nil) }
        }
    }

    private static let kinds = Statement(
        #"""
        SELECT DISTINCT m[1] FROM pg_proc p,
            regexp_matches(p.prosrc, 'INSERT INTO audit_event[^;]*?(?:clock_timestamp\(\)|now\(\)), ''([a-z_]+)''', 'g') AS m
        WHERE p.pronamespace = 'native_sso'::regnamespace
        """#)
}
