/// Rows of logins that were made long before anybody measured: number `n` is the same in SQL and here.
enum Population {
    static func login(_ number: Int) -> Login {
        Login(
            sid: "sid-" + digits(number, 18), subject: "user-" + digits(number, 22),
            device: "device-" + digits(number, 15))
    }

    /// Inserts sessions, devices and one grant in each session, for the first app, last used a day ago. Their device digests
    /// are not those of a broker, which makes them under a key of its own.
    ///
    /// Uses two database sessions at once, so that neither waits for the other. Skips triggers and foreign keys: the
    /// rows meet their conditions. Each row would also lock its user's name, and one transaction can hold about
    /// 10,000 locks.
    static func insert(_ numbers: Range<Int>, database: String, on cluster: BenchmarkCluster) async throws {
        let series = "generate_series(\(numbers.lowerBound), \(numbers.upperBound - 1)) AS n"
        let session = "('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid"
        let device = "sha256(convert_to('device-' || lpad(n::text, 15, '0'), 'UTF8'))"
        let sid = "sha256(convert_to('sid-' || lpad(n::text, 18, '0'), 'UTF8'))"
        let scope = SampleApps.scope.replacing(" ", with: ",")
        async let sessions = cluster.sql(
            """
            SET session_replication_role = replica;
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
                auth_time, created_at, expires_at, last_used_at)
            SELECT \(session), '\(SampleApps.issuer)', \(sid), '\(SampleApps.issuer)', \(sid),
                'user-' || lpad(n::text, 22, '0'), 'device-id', \(device), '\(SampleApps.source)',
                now() - interval '2 days', now() - interval '2 days', now() + interval '80 days',
                now() - interval '1 day'
            FROM \(series);
            """, database: database)
        async let grants = cluster.sql(
            """
            SET session_replication_role = replica;
            INSERT INTO native_sso.sso_grant (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, auth_time, amr, created_at, expires_at)
            SELECT ('01900000-0000-7000-a000-' || lpad(n::text, 12, '0'))::uuid, \(session), '\(SampleApps.targets[0])',
                '\(SampleApps.source)', \(device), 1, now() - interval '1 day', '{\(scope)}', '{\(SampleApps.audience)}',
                now() - interval '2 days', '{}', now() - interval '2 days', now() + interval '80 days'
            FROM \(series);
            INSERT INTO native_sso.device (issuer, device_digest, first_seen_at)
            SELECT '\(SampleApps.issuer)', \(device), now() - interval '2 days'
            FROM \(series);
            """, database: database)
        _ = try await (sessions, grants)
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
