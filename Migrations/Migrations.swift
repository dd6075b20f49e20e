/// One step of the schema: a file of this directory, embedded in the binary so that one file is all an operator copies.
public struct Migration: Sendable {
    /// The four digits with which the file's name begins.
    public let version: Int
    /// What follows the digits, without `.sql`.
    public let name: String
    /// The octets of the file, exactly.
    public let sql: [UInt8]

    public init(version: Int, name: String, sql: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    /// The name of the file: `0001_create_roles.sql`.
    public var file: String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_\(name).sql"
    }
}

/// Every step, in order. An applied file is never edited; a change is a new file.
public enum Migrations {
    public static let all = [
        Migration(version: 1, name: "create_roles", sql: PackageResources._001_create_roles_sql),
        Migration(
            version: 2, name: "create_clients_and_groups", sql: PackageResources._002_create_clients_and_groups_sql),
        Migration(
            version: 3, name: "create_sessions_and_grants", sql: PackageResources._003_create_sessions_and_grants_sql),
        Migration(
            version: 4, name: "create_keys_and_proofs", sql: PackageResources._004_create_keys_and_proofs_sql),
        Migration(version: 5, name: "create_audit", sql: PackageResources._005_create_audit_sql),
        Migration(version: 6, name: "create_admit", sql: PackageResources._006_create_admit_sql),
        Migration(version: 7, name: "create_advance", sql: PackageResources._007_create_advance_sql),
        Migration(
            version: 8, name: "create_administration", sql: PackageResources._008_create_administration_sql),
        Migration(version: 9, name: "create_retention", sql: PackageResources._009_create_retention_sql),
        Migration(
            version: 10, name: "create_client_credentials", sql: PackageResources._010_create_client_credentials_sql),
        Migration(
            version: 11, name: "cheaper_hot_functions", sql: PackageResources._011_cheaper_hot_functions_sql),
        Migration(version: 12, name: "sweep_pinned_devices", sql: PackageResources._012_sweep_pinned_devices_sql),
        Migration(version: 13, name: "create_logout", sql: PackageResources._013_create_logout_sql),
        Migration(version: 14, name: "create_enrolment", sql: PackageResources._014_create_enrolment_sql),
        Migration(version: 15, name: "end_nameless_sessions", sql: PackageResources._015_end_nameless_sessions_sql),
        Migration(version: 16, name: "bind_enrolment", sql: PackageResources._016_bind_enrolment_sql),
        Migration(version: 17, name: "relay_codes", sql: PackageResources._017_relay_codes_sql),
        Migration(version: 18, name: "explain_requests", sql: PackageResources._018_explain_requests_sql),
        Migration(version: 19, name: "gather_hot_calls", sql: PackageResources._019_gather_hot_calls_sql),
        Migration(
            version: 20, name: "begin_runs_by_exchange", sql: PackageResources._020_begin_runs_by_exchange_sql),
        Migration(version: 21, name: "tighten_registry", sql: PackageResources._021_tighten_registry_sql),
        Migration(version: 22, name: "send_codes_apart", sql: PackageResources._022_send_codes_apart_sql),
        Migration(
            version: 23, name: "audit_orphaned_codes", sql: PackageResources._023_audit_orphaned_codes_sql),
        Migration(version: 24, name: "refuse_alike", sql: PackageResources._024_refuse_alike_sql),
    ]
}
