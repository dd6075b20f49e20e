/// Does the work so many times at once.
/// - Returns: The results, in the order in which they come.
@discardableResult
package func atOnce<Value: Sendable>(
    _ count: Int, _ work: @escaping @Sendable (_ index: Int) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: Value.self) { group in
        for index in 0..<count { group.addTask { try await work(index) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// The same for work that needs no number.
@discardableResult
package func atOnce<Value: Sendable>(
    _ count: Int, _ work: @escaping @Sendable () async throws -> Value
) async throws -> [Value] {
    try await atOnce(count) { _ in try await work() }
}
