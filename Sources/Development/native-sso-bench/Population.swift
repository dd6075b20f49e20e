import Crypto
import Foundation

/// Rows of logins that were made long before anybody measured: number `n` is the same in SQL and here.
enum Population {
    static func login(_ number: Int) -> Login {
        Login(
            sid: "sid-" + digits(number, 18), subject: "user-" + digits(number, 22),
            device: "device-" + digits(number, 15))
    }

    /// What the rows have for the login's device; the digests that a broker makes are others, under a key of its own.
    static func deviceDigest(_ number: Int) -> [UInt8] { Array(SHA256.hash(data: Array(login(number).device.utf8))) }

    /// What the rows have for the login's `sid`.
    static func sidDigest(_ number: Int) -> [UInt8] { Array(SHA256.hash(data: Array(login(number).sid.utf8))) }

    static func grantID(_ number: Int) -> [UInt8] { identifier("0190000000007000a000" + digits(number, 12)) }

    /// SQL for the parts of row `n`.
    static func grantID(sql n: String) -> String { "('01900000-0000-7000-a000-' || lpad(\(n)::text, 12, '0'))::uuid" }
    static func sidDigest(sql n: String) -> String {
        "sha256(convert_to('sid-' || lpad(\(n)::text, 18, '0'), 'UTF8'))"
    }
    static func subject(sql n: String) -> String { "('user-' || lpad(\(n)::text, 22, '0'))" }
    static func deviceDigest(sql n: String) -> String {
        "sha256(convert_to('device-' || lpad(\(n)::text, 15, '0'), 'UTF8'))"
    }

    /// Inserts sessions, devices and one grant in each session, for the first app.
    ///
    /// Uses two database sessions at once, so that neither waits for the other. Skips triggers and foreign keys: the
    /// rows meet their conditions. Each row would also lock its user's name, and one transaction can hold about
    /// 10,000 locks.
    /// - Parameters:
    ///   - subject: SQL for the user of row `n`; `nil`: everybody has one session.
    ///   - idle: How long ago the sessions were last used.
    static func insert(
        _ numbers: Range<Int>, subject: String? = nil, idle: String, database: String, on cluster: BenchmarkCluster
    ) async throws {
        let series = "generate_series(\(numbers.lowerBound), \(numbers.upperBound - 1)) AS n"
        let session = "('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid"
        async let sessions = cluster.sql(
            """
            SET session_replication_role = replica;
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
                auth_time, created_at, expires_at, last_used_at)
            SELECT \(session), '\(SampleApps.issuer)', \(sidDigest(sql: "n")), '\(SampleApps.issuer)', \(sidDigest(sql: "n")),
                \(subject ?? Self.subject(sql: "n")), 'device-id', \(deviceDigest(sql: "n")), '\(SampleApps.source)',
                now() - interval '2 days', now() - interval '2 days', now() + interval '80 days',
                now() - interval '\(idle)'
            FROM \(series);
            """, database: database)
        async let grants = cluster.sql(
            """
            SET session_replication_role = replica;
            INSERT INTO native_sso.sso_grant (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, auth_time, amr, created_at, expires_at)
            SELECT \(grantID(sql: "n")), \(session), '\(SampleApps.targets[0])', '\(SampleApps.source)',
                \(deviceDigest(sql: "n")), 1, now() - interval '\(idle)', '{\(scope)}', '{\(SampleApps.audience)}',
                now() - interval '2 days', '{}', now() - interval '2 days', now() + interval '80 days'
            FROM \(series);
            INSERT INTO native_sso.device (issuer, device_digest, first_seen_at)
            SELECT '\(SampleApps.issuer)', \(deviceDigest(sql: "n")), now() - interval '2 days'
            FROM \(series);
            """, database: database)
        _ = try await (sessions, grants)
    }

    private static var scope: String { SampleApps.scope.replacing(" ", with: ",") }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }

    private static func identifier(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { $0 < 0x3a ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
