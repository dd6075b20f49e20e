import ChildProcesses

/// Databases, roles and addresses of a private cluster.
extension PrivateCluster {
    /// A libpq password file (0600) that knows the superuser; for `PGPASSFILE`.
    package nonisolated var passwordFile: String { "\(directory)/pgpass" }

    /// Where a program connects, over loopback TCP; without the password.
    package nonisolated func connectionURI(database: String, user: String = superuser) -> String {
        "postgresql://\(user)@127.0.0.1:\(port)/\(database)"
    }

    /// The same over the Unix socket in the cluster's directory.
    package nonisolated func socketURI(database: String, user: String = superuser) -> String {
        "postgresql://\(user)@/\(database)?host=\(directory)&port=\(port)"
    }

    /// The superuser's own database.
    package nonisolated var superuserURI: String { connectionURI(database: Self.superuser) }

    /// Makes an empty database, or a copy of a database without connections.
    package func createDatabase(_ name: String, template: String = "template0") async throws {
        try await psql("CREATE DATABASE \(try identifier(name)) TEMPLATE \(try identifier(template));")
    }

    /// Deletes a database and ends its connections.
    private func dropDatabase(_ name: String) async throws {
        try await psql("DROP DATABASE IF EXISTS \(try identifier(name)) WITH (FORCE);")
    }

    /// Runs `body` with a fresh database of a unique name, and drops it afterwards.
    package nonisolated func withDatabase<Value>(
        template: String = "template0", _ body: (_ name: String) async throws -> Value
    ) async throws -> Value {
        let name = "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try await createDatabase(name, template: template)
        return try await ending {
            try await body(name)
        } with: {
            try await dropDatabase(name)
        }
    }

    /// Lets a role that exists log in with the cluster's password.
    package func allowLogin(role: String) async throws {
        try await psql("ALTER ROLE \(try identifier(role)) LOGIN PASSWORD '\(password)';")
    }

    /// Makes a role that logs in with the cluster's password, unless it exists: roles belong to the whole cluster.
    /// - Parameter options: Of `CREATE ROLE`, such as `SUPERUSER`.
    package func makeLogin(role: String, _ options: String = "") async throws {
        try await psql(
            """
            DO $$ BEGIN
                PERFORM pg_advisory_xact_lock(1);
                IF to_regrole('\(role)') IS NULL THEN
                    CREATE ROLE \(try identifier(role)) LOGIN PASSWORD '\(password)' \(options);
                END IF;
            END $$;
            """)
    }

    /// Runs SQL as the superuser through `psql`, each statement by itself; stops at the first error.
    ///
    /// - Parameter limit: For all of it together.
    /// - Returns: The rows, a line each, columns separated by `|`.
    @discardableResult
    package nonisolated func psql(
        _ script: String, database: String = superuser, within limit: Duration = .seconds(120)
    ) async throws -> String {
        let arguments = [
            programs.path("psql"), "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d",
            connectionURI(database: database),
        ]
        let environment = [
            "PGPASSFILE": passwordFile, "PGCONNECT_TIMEOUT": "5", "PGOPTIONS": "-c client_min_messages=warning",
        ]
        return try await onOwnThread {
            try ClusterProgram.run(
                arguments, name: "psql", environment: environment, input: script, within: limit)
        }
    }

    /// Runs another program of the server package (`pg_dump`) as the superuser; what it wrote.
    package nonisolated func run(_ program: String, _ arguments: [String]) async throws -> String {
        let all = [programs.path(program)] + arguments
        let environment = ["PGPASSFILE": passwordFile, "PGCONNECT_TIMEOUT": "5"]
        return try await onOwnThread { try ClusterProgram.run(all, name: program, environment: environment) }
    }

    private nonisolated func identifier(_ name: String) throws -> String {
        let allowed = name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
        guard allowed, !name.isEmpty, name.utf8.count <= 63 else { throw PrivateClusterError.unusableName(name) }
        return "\"\(name)\""
    }
}
