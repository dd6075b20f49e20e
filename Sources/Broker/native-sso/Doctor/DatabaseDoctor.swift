import Migrator
import NativeSSO
import PostgresClient
import Registry

/// What `doctor` asks of the database.
struct DatabaseDoctor {
    let database: Configuration.Database

    /// - Parameter further: Checks that need the connection and the schema.
    func findings(
        _ further: (ConnectionPool) async -> [Finding]
    ) async -> [Finding] {
        let failure = ConnectionFailure()
        let pool: ConnectionPool
        do throws(CommandFailure) {
            var connection = try database.connection(pool: 1)
            connection.callDeadline = .seconds(10)
            pool = ConnectionPool(connection) { failure.note($0) }
        } catch {
            return [Self.connection(error)]
        }
        var findings: [Finding]
        do throws(PostgresError) {
            try await pool.waitUntilConnected(within: .seconds(5))
            let role = try? await DatabaseRole.current(in: pool)
            findings = [Self.connection(nil)] + (try await examine(pool, role))
            let schema = await Self.schema(pool)
            findings.append(schema)
            if schema.state != .failed {
                let isOwner = role?.ownsRegistry == true
                // The owner of a newer schema needs its release to compare.
                if !isOwner || schema.state == .ok { findings.append(await drift(pool, isOwner: isOwner)) }
                findings += await registry(pool)
                findings += await further(pool)
            }
        } catch {
            findings = [Self.connection(CommandFailure(error, connecting: failure.message))]
        }
        await pool.shutdown()
        return findings
    }

    private static func connection(_ failure: CommandFailure?) -> Finding {
        var why = ""
        if case .infrastructure(let text)? = failure { why = text }
        return Finding(
            "database.connection", failure == nil, seen: failure == nil ? "connected" : why,
            expected: "a writable server, over a connection that keeps its session",
            remedy:
                "start the server, or correct database.url and database.password_file; a pooler must be in session mode"
        )
    }

    private func examine(_ pool: ConnectionPool, _ role: DatabaseRole?) async throws(PostgresError) -> [Finding] {
        let state = try await DatabaseState.read(from: pool)
        let now = SystemClock().milliseconds
        guard let row = try await pool.query(DatabaseFacts.select, []).first else { return [] }
        let facts = try DatabaseFacts(row)
        return facts.findings(pool: database.pool) + state.findings(at: now)
            + (role.map { [$0.finding(isAllowed: database.allowsOwner)] } ?? [])
    }

    private static func schema(_ pool: ConnectionPool) async -> Finding {
        var (problem, isNewer): (String?, Bool) = (nil, false)
        do throws(PostgresError) {
            let found = try await Migrator.incompatibility(of: pool)
            problem = found?.description
            if case .databaseIsNewer? = found { isNewer = true }
        } catch {
            problem = words(error)
        }
        return Finding(
            "schema.migrations", problem == nil, isNewer ? .warning : .failed,
            seen: problem ?? "every migration is applied and unchanged", expected: "the schema of this release",
            remedy: isNewer
                ? "upgrade this broker; it serves in the meantime"
                : "type: native-sso migrate up, as the owner of the schema")
    }

    /// The owner compares the schema with one that is made anew, as `migrate verify` does. The service may make none: it
    /// looks for what protects its tables.
    private func drift(_ pool: ConnectionPool, isOwner: Bool) async -> Finding {
        let found: [String]
        do {
            if isOwner {
                let connection = try database.connection(pool: 1)
                found = try await Migrator(connection).drift().map(\.object)
            } else {
                found = try await pool.query(SchemaFaults.select, []).map { row in try row.text(0) }
            }
        } catch {
            found = ["it cannot be compared: \(error)"]
        }
        let fine =
            isOwner
            ? "as the migrations make it"
            : "no trigger is off, no index is invalid, and this user may write to no table; the owner compares the rest"
        let more = found.count > 3 ? " and \(found.count - 3) more" : ""
        return Finding(
            "schema.drift", found.isEmpty,
            seen: found.isEmpty ? fine : found.prefix(3).joined(separator: ", ") + more,
            expected: "tables, functions, triggers, roles and grants as the migrations make them",
            remedy: "type: native-sso migrate verify, as the owner of the schema; it shows each difference")
    }

    private func registry(_ pool: ConnectionPool) async -> [Finding] {
        do throws(PostgresError) {
            guard let size = try await Sweeper(database: pool).size(),
                let row = try await pool.query(RegistryFacts.select, []).first
            else { return [] }
            let facts = RegistryFacts(
                sweptAt: size.sweptAt, migratedAt: try row.int64(0), missingMonths: try row.int64(1))
            return facts.findings(at: SystemClock().now)
        } catch {
            return [
                Finding(
                    "retention.sweep", false, seen: Self.words(error), expected: "the service may read the registry",
                    remedy: "connect as a member of native_sso_broker")
            ]
        }
    }

    private static func words(_ error: PostgresError) -> String {
        if case .infrastructure(let text) = CommandFailure(error) { text } else { "\(error)" }
    }
}

enum SchemaFaults {
    /// What any user can see.
    static let select = Statement(
        """
        SELECT 'trigger ' || t.tgname || ' of ' || c.relname || ' is off' FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'native_sso' AND NOT t.tgisinternal AND t.tgenabled <> 'O'
        UNION ALL
        SELECT 'index ' || c.relname || ' is invalid' FROM pg_catalog.pg_index x
        JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'native_sso' AND NOT x.indisvalid
        UNION ALL
        SELECT 'this user may write to ' || c.relname FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'native_sso' AND c.relkind IN ('r', 'p', 'v')
            AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
        ORDER BY 1
        """)
}

/// Settings of the server, as it reports them.
struct DatabaseFacts: Sendable {
    var version = 150_000
    var versionName = "15.0"
    /// Whether commits survive a crash of the machine.
    var keepsCommits = true
    /// `synchronous_standby_names`.
    var synchronousStandbys = ""
    /// Connected standbys, synchronous or not.
    var standbys: Int64 = 0
    /// Of the role that connected; -1: no limit.
    var connectionLimit: Int64 = -1

    static let select = Statement(
        """
        SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
            current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
            current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_catalog.pg_stat_replication),
            (SELECT rolconnlimit::bigint FROM pg_catalog.pg_roles WHERE rolname = current_user)
        """)

    init() {}

    init(_ row: Row) throws(PostgresError) {
        (version, versionName) = (Int(try row.int64(0)), try row.text(1))
        (keepsCommits, synchronousStandbys) = (try row.bool(2), try row.text(3))
        (standbys, connectionLimit) = (try row.int64(4), try row.int64(5))
    }

    /// How many standbys a commit waits for: the number before the list of names, or 1.
    private var awaitedStandbys: Int64 {
        guard !synchronousStandbys.isEmpty else { return 0 }
        guard let list = synchronousStandbys.firstIndex(of: "(") else { return 1 }
        return synchronousStandbys[..<list].split(separator: " ").last.flatMap { Int64($0) } ?? 1
    }

    /// Connections of one broker beside its pool: the lanes, the listener and the commit probe.
    private static let besidePool: Int64 = 5

    /// - Parameter pool: `database.pool`.
    func findings(pool: Int) -> [Finding] {
        let needed = Int64(pool) + Self.besidePool
        let isWaiting = standbys < awaitedStandbys
        let standbyWords =
            synchronousStandbys.isEmpty
            ? "no synchronous standby is configured, \(standbys) connected"
            : "synchronous_standby_names = '\(synchronousStandbys)', \(standbys) connected"
        return [
            Finding(
                "database.version", version >= 140_000, seen: "PostgreSQL \(versionName)",
                expected: "PostgreSQL 14 or later", remedy: "upgrade the server"),
            Finding(
                "database.durability", keepsCommits,
                seen: keepsCommits ? "fsync and full_page_writes are on" : "fsync or full_page_writes is off",
                expected: "both on: a crash loses no grant and no end of a session",
                remedy: "set fsync = on and full_page_writes = on in postgresql.conf"),
            Finding(
                "database.standbys", !isWaiting, seen: standbyWords, expected: "the standbys that commits wait for",
                remedy: "start the standby, or take it out of synchronous_standby_names"),
            Finding(
                "database.connections", connectionLimit < 0 || connectionLimit >= needed, .warning,
                seen: connectionLimit < 0 ? "the role has no limit" : "the role may have \(connectionLimit)",
                expected: "\(needed) for this broker, and as many for each other one",
                remedy: "ALTER ROLE … CONNECTION LIMIT, or lower database.pool"),
        ]
    }
}

extension DatabaseState {
    /// - Parameter now: The clock here, milliseconds since 1970.
    func findings(at now: Int64) -> [Finding] {
        let (ahead, overflow) = milliseconds.subtractingReportingOverflow(now)
        let distance = overflow ? Int64.max : Int64(clamping: ahead.magnitude)
        return [
            Finding(
                "database.commits", !isReadOnly && !commitsMayBeLost && !waitsForStandby,
                seen: isReadOnly
                    ? "the server is read-only"
                    : commitsMayBeLost
                        ? "synchronous_commit is off, or local with synchronous standbys"
                        : waitsForStandby ? "commits wait for a standby that does not answer" : "commits are kept",
                expected: "a commit that was confirmed survives a crash and a failover",
                remedy: "set synchronous_commit = on for the database and the role, and look at the standbys"),
            Finding(
                "database.clock", distance <= Self.clockTolerance,
                seen: distance < 1000
                    ? "less than 1 s from that of this machine" : "\(distance / 1000) s from that of this machine",
                expected: "at most \(Self.clockTolerance / 1000) s",
                remedy: "synchronise both clocks, with chrony or NTP"),
        ]
    }
}

extension DatabaseRole {
    fileprivate func finding(isAllowed: Bool) -> Finding {
        Finding(
            "database.role", !ownsRegistry && surplus.isEmpty, isAllowed || !ownsRegistry ? .warning : .failed,
            seen: name + " "
                + (isSuperuser
                    ? "is a superuser"
                    : ownsRegistry
                        ? "is a member of native_sso_admin"
                        : surplus.isEmpty ? "may call functions only" : surplus.joined(separator: ", ")),
            expected: "a login IN ROLE native_sso_broker and nothing more",
            remedy:
                "give the service such a login, and name it in database.url; run doctor with the configuration of the service"
        )
    }
}

/// What the registry says of its upkeep.
struct RegistryFacts: Sendable {
    /// Seconds since 1970: the last sweep of a broker, 0 for never; and the first migration.
    var sweptAt: Int64
    var migratedAt: Int64
    /// Of this month and the next, how many have no partition in the audit.
    var missingMonths: Int64

    static let select = Statement(
        """
        SELECT coalesce(extract(epoch FROM (SELECT min(applied_at) FROM native_sso.schema_migration)), 0)::bigint,
            (SELECT count(*) FROM generate_series(0, 1) AS month (n) WHERE NOT EXISTS (
                SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
                WHERE s.nspname = 'native_sso' AND c.relname = 'audit_event_p' || to_char(
                    date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n), 'YYYY_MM')))
        """)

    func findings(at now: UnixTime) -> [Finding] {
        let isDue = max(sweptAt, migratedAt) < now.seconds - Seconds.hours(24).count
        return [
            Finding(
                "retention.sweep", !isDue, .warning,
                seen: sweptAt == 0
                    ? "no broker has swept yet" : "a broker swept last at \(UnixTime(seconds: sweptAt).rfc3339)",
                expected: "a running broker sweeps every hour; a sweep by command does not count",
                remedy: "start a broker, and look for \"sweep\" in its log; until then: native-sso sweep --execute"),
            Finding(
                "retention.audit", missingMonths == 0, .warning,
                seen: missingMonths == 0
                    ? "this month and the next have partitions"
                    : "\(missingMonths) of this month and the next have no partition",
                expected: "partitions made ahead; without one, events go to the default partition and are kept longer",
                remedy: "run a broker, or type: native-sso sweep --execute"),
        ]
    }
}
