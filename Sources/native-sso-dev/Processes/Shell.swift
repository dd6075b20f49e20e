import Foundation

/// A shell that outlives this process for as long as it takes to clean up after it: its standard input is a ``Lifeline``.
struct Shell: Sendable {
    let lifeline: Lifeline
    private let exit: Task<Int32, Never>

    /// - Parameters:
    ///   - name: What the shell calls itself, `$0`.
    ///   - arguments: `$1` and so on.
    ///   - output: Where it writes; closed here afterwards. nil for nowhere.
    ///   - errors: The path of a file, made if it is not there, appended to if it is.
    init(
        _ script: String, name: String, arguments: [String], environment: [String: String] = ["PATH": "/usr/bin:/bin"],
        output: FileHandle? = nil, errors: String = "/dev/null"
    ) throws {
        let input = try PrivateChannel()
        let errors = try FileHandle(appendingTo: errors)
        let nowhere = try FileHandle(appendingTo: "/dev/null")
        lifeline = Lifeline(input.writing)
        let child = try ChildProcess(
            ["/bin/sh", "-c", script, name] + arguments, environment: environment,
            descriptors: [input.reading, output ?? nowhere, errors].map(\.fileDescriptor))
        try input.reading.close()
        try output?.close()
        let (statuses, status) = AsyncStream.makeStream(of: Int32.self)
        Thread.detachNewThread {
            status.yield(child.wait())
            status.finish()
        }
        exit = Task { await statuses.first { _ in true } ?? -1 }
    }

    /// The exit status, or 128 + a signal, once the shell has ended.
    func waitForEnd() async -> Int32 { await exit.value }
}
