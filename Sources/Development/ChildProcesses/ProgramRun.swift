package import Foundation
import Glibc

/// A program that ran to its end.
package struct ProgramRun: Sendable {
    /// `nil`: it had not ended in time, and was killed.
    package let status: Int32?
    /// Whatever it wrote to standard output.
    package let octets: [UInt8]
    package let errors: String

    package var output: String { String(decoding: octets, as: UTF8.self) }

    /// Runs it. Blocks for at most `limit`, and ten seconds more where it must be killed.
    ///
    /// Input, output and errors are unnamed files. So no pipe fills up, no SIGPIPE occurs, and no read waits for a
    /// grandchild that keeps them open.
    /// - Parameter output: Where standard output goes instead of into the result.
    package init(
        _ arguments: [String], environment: [String: String], inOwnSession: Bool, input: String = "",
        output: FileHandle? = nil,
        within limit: Duration
    ) throws(SystemCallFailure) {
        let (source, sink, complaints) = (try UnnamedFile(), try UnnamedFile(), try UnnamedFile())
        try source.write(input)
        let child = try ChildProcess(
            arguments, environment: environment, inOwnSession: inOwnSession, input: source.handle,
            output: output ?? sink.handle, errors: complaints.handle)
        status = child.wait(within: limit)
        if status == nil { child.kill() }
        (octets, errors) = (sink.contents(), String(decoding: complaints.contents(), as: UTF8.self))
    }
}

/// A file for the input or output of one process.
private struct UnnamedFile {
    let handle: FileHandle

    init() throws(SystemCallFailure) {
        let name = "child-process-\(UInt64.random(in: 0...UInt64.max))"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure(call: "open \(path)", errno: errno) }
        unlink(path)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ text: String) throws(SystemCallFailure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(handle.fileDescriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemCallFailure(call: "write", errno: errno) }
            rest = rest.dropFirst(count)
        }
        lseek(handle.fileDescriptor, 0, SEEK_SET)
    }

    func contents() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(handle.fileDescriptor, &buffer, buffer.count, bytes.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
