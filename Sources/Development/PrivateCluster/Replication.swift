/// Streaming replication between private clusters.
extension PrivateCluster {
    /// Starts a second server that holds a copy of this one and follows it. Commits here do not wait for it until
    /// ``requireConfirmation(by:)``.
    package func startStandby() async throws -> PrivateCluster {
        let home = try ClusterDirectory(nil, programs: programs)
        try home.prepare(password: password)
        let standby = PrivateCluster(
            directory: home.path, port: try LoopbackPort.free(), password: password, programs: programs,
            options: options)
        do { try await standby.follow(self) } catch {
            try? await standby.stop()
            throw error
        }
        return standby
    }

    /// Throws away all that this server has, running or not, and makes it a standby of another. Returns when it streams.
    ///
    /// A replication slot on the primary keeps what the standby has not had yet, for however long it is away.
    package func follow(_ primary: PrivateCluster) async throws {
        let name = replicationName
        try await primary.psql(
            """
            SELECT pg_create_physical_replication_slot('\(name)', true)
            WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '\(name)');
            """)
        let connection = primary.connectionURI(database: "replication") + "?application_name=\(name)"
        let arguments = programs.asServer(
            [
                programs.path("pg_basebackup"), "-D", "\(directory)/data", "-d", connection, "-w", "-R", "-X", "stream",
                "-S", name, "-c", "fast",
            ] + (options.fsync ? [] : ["--no-sync"]))
        let environment = ["PGPASSFILE": passwordFile, "PGCONNECT_TIMEOUT": "5"]
        try await replaceData {
            _ = try ClusterProgram.run(arguments, name: "pg_basebackup", environment: environment)
        }
        try await primary.untilStreams(to: name)
    }

    /// Makes a standby the primary. Returns when it takes writes.
    package func promote() async throws {
        let question = "SELECT pg_promote(true, 60);"
        guard try await psql(question) == "t\n" else { throw PrivateClusterError.neverHappened(question) }
    }

    /// Whether it follows another server.
    package var isStandby: Bool { get async throws { try await psql("SELECT pg_is_in_recovery();") == "t\n" } }

    /// After it returns, every commit that this server acknowledged is also on the standby. While the standby is away,
    /// this server acknowledges no commit. `nil`: commits do not wait for a standby.
    package func requireConfirmation(by standby: PrivateCluster?) async throws {
        try await configure(["synchronous_standby_names": standby?.replicationName ?? ""])
        guard let standby else { return }
        try await untilStreams(to: standby.replicationName)
        // Shared memory tells a commit whether to wait. The checkpointer updates it after it reads the new setting, at
        // the latest between two checkpoints. The commit then waits for everything before it.
        try await psql("CHECKPOINT; CHECKPOINT; SELECT pg_logical_emit_message(true, 'replication', 'confirmed');")
    }

    /// Its `application_name` and slot at a primary.
    nonisolated var replicationName: String { "standby_\(port)" }

    private func untilStreams(to name: String) async throws {
        let question =
            "SELECT count(*) FROM pg_stat_replication WHERE application_name = '\(name)' AND state = 'streaming';"
        try await until(question, answers: "1")
    }

    /// Polls for a value for up to 60 s: the server sends no notice when it changes.
    package nonisolated func until(_ question: String, answers value: String) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try await psql(question) != value + "\n" {
            guard ContinuousClock.now < deadline else { throw PrivateClusterError.neverHappened(question) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
