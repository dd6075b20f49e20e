import Synchronization

/// How far the database had come when it was last met, so that an older state of it (a restored backup, a standby that
/// lost writes and was promoted, another cluster altogether) is refused rather than believed.
///
/// Remembers within one process. The timeline counts first: a promotion begins a new one.
public final class DatabaseHistory: Sendable {
    struct Point: Sendable, Equatable {
        let system: Int64
        let timeline: Int64
        /// Write-ahead log that had reached the disk, in bytes.
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

    public init() {}

    /// Asks a new connection where it stands. False if that lies before a point that was already known when asking;
    /// what other connections learn meanwhile does not count, as the answers may overtake each other.
    func accepts(_ connection: Connection, deadline: MonotonicTime) throws(PostgresError) -> Bool {
        let known = latest.withLock { $0 }
        let rows: [Row]
        do throws(PostgresError) {
            rows = try connection.execute(Self.statement, [], deadline: deadline)
        } catch .server {
            return true  // this role may not ask, or a standby cannot say
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

    /// Whether a standby has been promoted since, and was met: what still answers on the older timeline does not know what
    /// was decided on the newer one.
    func hasLeft(timeline: Int64) -> Bool {
        latest.withLock { latest in latest.map { $0.timeline > timeline } ?? false }
    }
}

/// FNV-1a, 64 bits: quick, the same in every process, and no defence against whoever looks for a collision.
enum FNV1a {
    static func digest(_ octets: some Sequence<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in octets { digest = (digest ^ UInt64(octet)) &* 0x100_0000_01b3 }
        return digest
    }
}
