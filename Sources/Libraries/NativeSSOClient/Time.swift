#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The system clock in seconds since 1970.
@Sendable func systemTime() -> Int64 { Int64(time(nil)) }

/// Ends the wait for work that may never end.
enum TimeLimit {
    struct Passed: Error {}

    /// The outcome of `work`, or ``Passed``. Work that ignores its cancellation goes on, and its outcome is dropped.
    static func run<Value: Sendable>(
        _ limit: Duration, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (outcomes, outcome) = AsyncStream<Result<Value, any Error>>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let working = Task {
            do { outcome.yield(.success(try await work())) } catch { outcome.yield(.failure(error)) }
        }
        let waiting = Task {
            try await Task.sleep(for: limit)
            outcome.yield(.failure(Passed()))
        }
        defer {
            working.cancel()
            waiting.cancel()
        }
        for await first in outcomes { return try first.get() }
        throw CancellationError()
    }
}
