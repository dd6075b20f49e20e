public import Foundation
import Glibc
import PrivateCluster
import Synchronization

/// A program that runs beside the tests and never outlives them.
public final class ManagedProcess: Sendable {
    public let pid: Int32
    /// What it wrote to standard error.
    public let log: URL
    private let hasEnded: EndFlag
    private let end: Task<Int32, Never>
    private let output: AsyncStream<String>

    /// Starts a program.
    /// - Parameters:
    ///   - environment: All that it sees of the environment, beside a `PATH`.
    ///   - log: Standard error is appended to this file.
    ///   - input: What it reads; nothing by default.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL,
        input: FileHandle? = nil
    ) throws {
        if !FileManager.default.fileExists(atPath: log.path) {
            try Data().write(to: log)
        }
        let errors = try FileHandle(forWritingTo: log)
        try errors.seekToEnd()
        let channel = try PrivateChannel()
        let nothing = try FileHandle(forReadingFrom: URL(filePath: "/dev/null"))
        let guardian = try Guardian.shared.get()
        let child = try withExtendedLifetime((input, nothing, errors)) {
            try ChildProcess.spawn(
                [program] + arguments, environment: environment, input: (input ?? nothing).fileDescriptor,
                output: channel.writing.fileDescriptor, errors: errors.fileDescriptor)
        }
        try channel.writing.close()
        let pid = child.pid
        try guardian.watch(pid)
        self.pid = pid
        self.log = log
        output = Self.lines(of: channel.reading)
        let hasEnded = EndFlag()
        self.hasEnded = hasEnded
        end = Task {
            let status = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: child.wait()) }
            }
            hasEnded.isSet.store(true, ordering: .releasing)
            try? guardian.release(pid)
            return status
        }
    }

    /// Until its end was noticed.
    public var isRunning: Bool { !hasEnded.isSet.load(ordering: .acquiring) }

    /// Waits for the end. The exit status, or 128 + the signal that ended it.
    public var exitStatus: Int32 { get async { await end.value } }

    /// The next line of standard output; `nil` when there are no more.
    public func nextLine() async -> String? {
        var lines = output.makeAsyncIterator()
        return await lines.next()
    }

    public func signal(_ signal: Int32) { kill(pid, signal) }

    /// Asks the program to end and waits for it.
    @discardableResult public func terminate() async -> Int32 {
        signal(SIGTERM)
        return await exitStatus
    }

    /// Runs a program to its end; what it wrote to standard output.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: URL
    ) async throws -> (status: Int32, output: String) {
        let process = try ManagedProcess(program, arguments, environment: environment, log: log)
        var output = ""
        for await line in process.output { output += line + "\n" }
        return (await process.exitStatus, output)
    }

    private static func lines(of handle: FileHandle) -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                var pending: [UInt8] = []
                var portion = [UInt8](repeating: 0, count: 65_536)
                while case let count = read(handle.fileDescriptor, &portion, portion.count), count > 0 {
                    pending += portion[..<count]
                    while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: pending[..<newline], as: UTF8.self))
                        pending.removeFirst(newline + 1)
                    }
                }
                if !pending.isEmpty { continuation.yield(String(decoding: pending, as: UTF8.self)) }
                continuation.finish()
            }
        }
    }
}

private final class EndFlag: Sendable {
    let isSet = Atomic(false)
}
