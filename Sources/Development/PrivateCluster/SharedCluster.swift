extension PrivateCluster {
    /// One cluster for all tests of a process: started on first use, deleted when the process ends, however it ends.
    ///
    /// Tests that stop, kill or freeze a server start one of their own.
    package static var shared: PrivateCluster {
        get async throws { try await SharedCluster.instance.cluster() }
    }

    /// Whether this is ``shared``.
    package nonisolated var isShared: Bool { get async { await SharedCluster.instance.started === self } }
}

private actor SharedCluster {
    static let instance = SharedCluster()
    private(set) var started: PrivateCluster?
    private var starting: Task<PrivateCluster, any Error>?

    func cluster() async throws -> PrivateCluster {
        let task = starting ?? Task { try await PrivateCluster.start(options: .testing) }
        starting = task
        let cluster = try await task.value
        started = cluster
        return cluster
    }
}
