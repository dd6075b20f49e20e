import PostgresClient

enum MigratorSQL {
    static let findTable = Statement("SELECT to_regclass('native_sso.schema_migration') IS NOT NULL")

    /// Held until the transaction ends. The number is arbitrary, and this program's own.
    static let tryLock = Statement("SELECT pg_try_advisory_xact_lock(7017280452245743464)")

    /// $1 version or NULL, $2 name, $3 SHA-256 of the file.
    static let record = Statement(
        """
        INSERT INTO native_sso.schema_migration (version, name, sha256, applied_at, applied_by)
        VALUES ($1, $2, $3, now(), session_user)
        """)

    static let createTable = Array(
        """
        CREATE SCHEMA IF NOT EXISTS native_sso;
        CREATE TABLE IF NOT EXISTS native_sso.schema_migration (
            ordinal integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            version integer UNIQUE CHECK (version > 0),
            name text COLLATE "C" NOT NULL,
            sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
            applied_at timestamptz NOT NULL,
            applied_by text COLLATE "C" NOT NULL,
            UNIQUE (name, sha256)
        );
        """.utf8)
}
