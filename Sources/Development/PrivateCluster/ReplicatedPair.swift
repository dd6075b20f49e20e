/// A primary and its synchronous standby, two servers. Every failover swaps their roles.
///
/// What the primary has acknowledged is never lost with it.
package actor ReplicatedPair {
    /// The two servers, in an order that stays.
    package nonisolated let servers: [PrivateCluster]
    /// Takes the writes; between ``killPrimary()`` and ``promoteStandby()`` it is dead.
    package private(set) var primary: PrivateCluster
    package private(set) var standby: PrivateCluster

    private init(_ primary: PrivateCluster, _ standby: PrivateCluster) {
        servers = [primary, standby]
        self.primary = primary
        self.standby = standby
    }

    /// Starts both; commits wait for the standby.
    package static func start(options: ClusterOptions = .testing) async throws -> ReplicatedPair {
        var options = options
        let own = ["wal_retrieve_retry_interval": "200ms", "max_slot_wal_keep_size": "1GB"]
        options.settings.merge(own) { chosen, _ in chosen }
        let primary = try await PrivateCluster.start(options: options)
        do {
            let standby = try await primary.startStandby()
            try await primary.requireConfirmation(by: standby)
            return ReplicatedPair(primary, standby)
        } catch {
            try? await primary.stop()
            throw error
        }
    }

    /// Kills every process of the primary (SIGKILL). Nothing takes writes until the standby is promoted.
    package func killPrimary() async throws { try await primary.kill9() }

    /// Promotes the standby. Commits wait for no standby until ``rejoin()``. Returns when the new primary takes writes.
    package func promoteStandby() async throws {
        try await standby.promote()
        (primary, standby) = (standby, primary)
    }

    /// Makes the server that was the primary a standby, from a fresh copy: what it had and the new primary lacks was
    /// never acknowledged. Returns when commits wait for it.
    package func rejoin() async throws {
        try await standby.follow(primary)
        try await primary.requireConfirmation(by: standby)
    }

    package func stop() async throws {
        for server in servers { try await server.stop() }
    }

    /// The connection URI for the server that takes writes, without the password.
    package nonisolated func connectionURI(database: String, user: String = PrivateCluster.superuser) -> String {
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return "postgresql://\(user)@\(hosts)/\(database)?target_session_attrs=read-write"
    }
}
