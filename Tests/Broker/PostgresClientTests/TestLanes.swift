import PostgresClient
import PrivateCluster

/// Runs `body` with lanes on a new database in the shared cluster. The default is one lane with limits that no test
/// reaches.
func withLanes<Value>(
    _ count: Int = 1, _ configure: (inout PostgresConfiguration, inout LaneConfiguration) -> Void = { _, _ in },
    _ body: (_ lanes: BatchingLanes, _ database: String) async throws -> Value
) async throws -> Value {
    let cluster = try await PrivateCluster.shared
    return try await cluster.withDatabase { database in
        let lanes = try await cluster.lanes(database: database, count, configure)
        return try await ending {
            try await body(lanes, database)
        } with: {
            await lanes.shutdown()
        }
    }
}

extension PrivateCluster {
    /// Connected lanes.
    nonisolated func lanes(
        database: String = superuser, _ count: Int = 1,
        _ configure: (inout PostgresConfiguration, inout LaneConfiguration) -> Void = { _, _ in }
    ) async throws -> BatchingLanes {
        var configuration = try configuration(database: database)
        patient(&configuration)
        var gathering = LaneConfiguration()
        gathering.lanes = count
        gathering.batchLockTimeout = .seconds(20)
        configure(&configuration, &gathering)
        let lanes = BatchingLanes(configuration, gathering)
        try await lanes.waitUntilConnected(within: .seconds(10))
        return lanes
    }
}

extension BatchingLanes {
    /// Runs `gather` while the only lane waits at a gate, so its calls form one batch.
    ///
    /// - Parameter others: The number of sessions that already wait at a gate.
    func inOneBatch(
        _ database: String, behind others: Int64 = 0, cluster: PrivateCluster? = nil,
        _ gather: () async -> [PendingCall]
    ) async throws -> [PendingCall] {
        try await withGate(database, cluster: cluster) { gate in
            let blocked = start(Gate.passPatiently)
            try await gate.untilBlocked(others + 1)
            let calls = await gather()
            try await gate.open()
            _ = try await blocked.value.get()
            return calls
        }
    }

    /// The same, but returns the answers.
    func asOneBatch(_ database: String, _ gather: () async -> [PendingCall]) async throws -> [Result<
        [Row], PostgresError
    >] {
        var answers: [Result<[Row], PostgresError>] = []
        for call in try await inOneBatch(database, gather) { answers.append(await call.value) }
        return answers
    }
}

extension Result where Failure == PostgresError {
    var error: PostgresError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
