import Hummingbird
import Logging
import UnixSignals

/// Starts an environment, runs a body with it, and ends it: afterwards, on an error, or on SIGINT or SIGTERM.
struct EnvironmentLifetime {
    let options: EnvironmentOptions
    let progress: @Sendable (String) -> Void

    init(_ options: EnvironmentOptions, progress: @escaping @Sendable (String) -> Void = StandardError.write) {
        self.options = options
        self.progress = progress
    }

    /// For a `body` that has nothing more to do: waits until a signal cancels it.
    static func untilInterrupted() async throws { try await Task.sleep(for: .seconds(Int64.max / 2)) }

    /// Serves the page with the two phones while `body` runs.
    private static func withPage(
        _ description: EnvironmentDescription, _ body: @escaping @Sendable (EnvironmentDescription) async throws -> Void
    ) async throws {
        var logger = Logger(label: "page", factory: StreamLogHandler.standardError(label:))
        logger.logLevel = .critical  // At its end the framework logs as errors that its connections end.
        let server = PageServer(port: description.ports.page, phones: try Phones(description), logger: logger)
        let ready = AsyncStream<Void>.makeStream()
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await server.application { ready.continuation.yield() }.runService(gracefulShutdownSignals: [])
            }
            group.addTask {
                for await _ in ready.stream { break }
                try await body(description)
            }
            // The server ends only by an error.
            try await group.next()
            group.cancelAll()
        }
    }

    /// - Throws: What start or `body` threw. A signal is no error: it is how one ends this.
    func run(_ body: @escaping @Sendable (EnvironmentDescription) async throws -> Void) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let environment = try await DevelopmentEnvironment(options, progress: progress)
        let result = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask {
                do {
                    try await Self.withPage(try await environment.start(), body)
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
