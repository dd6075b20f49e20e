/// Waits until something is so, where nobody tells of the moment in which it becomes so.
///
/// - Parameters:
///   - limit: Generous: it bounds a failing test, never a passing one.
///   - pause: Between two looks; longer where looking is counted.
/// - Returns: The first value that is not `nil`.
public func eventually<Value: Sendable>(
    _ what: String, within limit: Duration = .seconds(30), every pause: Duration = .milliseconds(10),
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let value = try await look() { return value }
        guard ContinuousClock.now < deadline else { throw NeverHappened(what: what) }
        try await Task.sleep(for: pause)
    }
}

public struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    public var description: String { "it never happened: \(what)" }
}
