import Synchronization

/// The last known position of the database. The broker refuses an older state: a restored backup, a promoted standby
/// that lost writes, or another cluster.
///
/// Kept in memory only. The timeline is compared first, because a promotion starts a new one.
package final class DatabaseHistory: Sendable {
    struct Point: Sendable, Equatable {
        let system: Int64
        let timeline: Int64
        /// Flushed write-ahead log, in bytes.
        let position: Int64

        func isBefore(_ other: Point) -> Bool { (timeline, position) < (other.timeline, other.position) }
    }

    static let statement = Statement(
        """
        SELECT system_identifier,
            ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::bigint,
            (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint
        FROM pg_control_system()
        """)

    private let latest = Mutex<Point?>(nil)

    package init() {}

    /// Asks a new connection for its position. False if it is before the point known at the start of the call.
    /// Positions that other connections report in the meantime do not count, because answers may overtake each other.
    func accepts(_ connection: Connection, deadline: MonotonicTime) throws(PostgresError) -> Bool {
        let known = latest.withLock { $0 }
        let rows: [Row]
        do throws(PostgresError) {
            rows = try connection.execute(Self.statement, [], deadline: deadline)
        } catch .server {
            return true  // the role lacks the permission, or the server is a standby
        }
        guard let row = rows.first else { return true }
        let met = Point(system: try row.int64(0), timeline: try row.int64(1), position: try row.int64(2))
        if let known, met.system != known.system || met.isBefore(known) { return false }
        latest.withLock { latest in
            if let point = latest, met.isBefore(point) { return }
            latest = met
        }
        connection.began(on: met.timeline, in: self)
        return true
    }

    /// Whether the broker has since connected to a promoted standby. A server on the older timeline lacks the newer
    /// one's decisions.
    func hasLeft(timeline: Int64) -> Bool {
        latest.withLock { latest in latest.map { $0.timeline > timeline } ?? false }
    }
}

/// FNV-1a, 64 bits: fast and the same in every process. It does not resist deliberate collisions.
enum FNV1a {
    static func digest(_ octets: some Sequence<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in octets { digest = (digest ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return digest
    }
}
