import Synchronization

/// The last known position of the database. The broker refuses an older state: a restored backup, a promoted standby
/// that lost writes, or another cluster. An operator may accept one with a row that a statement reads.
///
/// Kept in memory only. The timeline is compared first, because a promotion starts a new one.
package final class DatabaseHistory: Sendable {
    struct Point: Sendable, Equatable {
        let system: Int64
        let timeline: Int64
        /// Flushed write-ahead log, in bytes.
        let position: Int64
        /// The newest acceptance by an operator that the database holds; 0: none is readable. Microseconds since 1970.
        let acceptance: Int64

        func isBefore(_ other: Point) -> Bool {
            (acceptance, timeline, position) < (other.acceptance, other.timeline, other.position)
        }
    }

    static let statement = Statement(
        """
        SELECT system_identifier,
            ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::bigint,
            (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint
        FROM pg_control_system()
        """)

    private let latest = Mutex<Point?>(nil)

    private let acceptances: Statement?

    /// - Parameter acceptances: Reads what operators have accepted; $1 is the system identifier of the known cluster.
    ///   Two columns: the newest acceptance, and the newest that lets this cluster follow that one; 0: none.
    package init(acceptances: Statement? = nil) { self.acceptances = acceptances }

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
        let system = try row.int64(0)
        let accepted = try acceptance(connection, after: known?.system ?? system, deadline: deadline)
        let met = Point(
            system: system, timeline: try row.int64(1), position: try row.int64(2),
            acceptance: accepted?.newest ?? known?.acceptance ?? 0)
        if let known, met.system != known.system || met.isBefore(known) {
            // One that the broker has not seen before: a copy of the database that is older than it lacks it.
            guard let accepted, accepted.ofSuccession > known.acceptance else { return false }
        }
        latest.withLock { latest in
            if let point = latest, met.isBefore(point) { return }
            latest = met
        }
        connection.began(at: met, in: self)
        return true
    }

    /// Nil if the statement cannot be read: then nothing is accepted.
    private func acceptance(
        _ connection: Connection, after system: Int64, deadline: MonotonicTime
    ) throws(PostgresError) -> (newest: Int64, ofSuccession: Int64)? {
        guard let acceptances else { return nil }
        do throws(PostgresError) {
            guard let row = try connection.execute(acceptances, [.int64(system)], deadline: deadline).first else {
                return nil
            }
            return (try row.int64(0), try row.int64(1))
        } catch .server {
            return nil
        }
    }

    /// Whether the broker has since connected to a promoted standby or an accepted database. A server on the older
    /// timeline lacks the newer one's decisions.
    func hasLeft(_ point: Point) -> Bool {
        latest.withLock { latest in
            latest.map { ($0.acceptance, $0.timeline) > (point.acceptance, point.timeline) } ?? false
        }
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
