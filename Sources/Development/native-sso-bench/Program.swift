import BrokerHarness
import ChildProcesses
import Foundation
import NIOCore
import NIOPosix
import PrivateCluster

/// Waits that a measurement needs beside those of ``ManagedProcess``.
enum Program {
    /// Runs a program and tells of each line that it writes to standard error, when it does. The program sees nothing of this
    /// program's environment, so that no variable of the operator's changes what is measured.
    static func run(
        _ arguments: [String], environment: [String: String], within limit: Duration,
        onErrorLine: (_ pid: Int32, Substring) throws -> Void
    ) throws {
        let deadline = ContinuousClock.now + limit
        let errors = try PrivateChannel()
        let child = try ChildProcess(
            arguments, environment: ChildProcess.bareEnvironment.merging(environment) { $1 }, inOwnSession: false,
            errors: errors.writing)
        defer { child.kill() }
        try errors.writing.close()
        var pending = ""
        var last = ""
        while isReadable(errors.reading, until: deadline), case let data = errors.reading.availableData, !data.isEmpty {
            pending += String(decoding: data, as: UTF8.self)
            while let end = pending.firstIndex(of: "\n") {
                last = String(pending[..<end])
                try onErrorLine(child.pid, pending[..<end])
                pending = String(pending[pending.index(after: end)...])
            }
        }
        let status = child.wait(within: ContinuousClock.now.duration(to: deadline))
        guard status == 0 else {
            let end = status.map { "ended with status \($0)" } ?? "did not end within \(limit), and was killed"
            throw ManagedProcess.Failure(description: "\(arguments[0]) \(end): \(last.suffix(2000))")
        }
    }

    /// Waits for something that cannot be called off, at most a minute.
    static func wait(for what: String, _ work: @escaping @Sendable () async -> Void) async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        Task {
            await work()
            end.yield(true)
        }
        let watch = Task {
            try await Task.sleep(for: .seconds(60))
            end.yield(false)
        }
        defer { watch.cancel() }
        switch await ends.first(where: { _ in true }) {
        case true?: return
        case false?: throw ManagedProcess.Failure(description: "waited in vain for a minute for \(what)")
        case nil: throw CancellationError()
        }
    }

    private static func isReadable(_ handle: FileHandle, until deadline: ContinuousClock.Instant) -> Bool {
        let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
        var watched = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, Int32(rest / .milliseconds(1))) > 0
    }
}

/// Lends an event loop on a thread of its own, which ends with the work, whatever came of it.
func withOwnEventLoop<Value>(_ work: (any EventLoop) async throws -> Value) async throws -> Value {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    return try await ending {
        try await work(group.next())
    } with: {
        try await group.shutdownGracefully()
    }
}
