import UnixSignals

/// Starts an environment, runs a body with it, and ends it: afterwards, on an error, or on SIGINT or SIGTERM.
struct EnvironmentLifetime {
    private let options: EnvironmentOptions

    init(_ options: EnvironmentOptions) { self.options = options }

    /// For a `body` that has nothing more to do: waits until a signal cancels it.
    static func untilInterrupted() async throws { try await Task.sleep(for: .seconds(Int64.max / 2)) }

    /// - Throws: What start or `body` threw. A signal is no error: it is how one ends this.
    func run(
        _ body: @escaping @Sendable (DevelopmentEnvironment, EnvironmentDescription) async throws -> Void
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let environment = try await DevelopmentEnvironment(options, progress: StandardError.write)
        let result = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask {
                do {
                    try await body(environment, try await environment.start())
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in signals { break }
                return .success(())
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .success(())
        }
        await environment.stop()
        try result.get()
    }
}
