import Foundation

/// Programs that run to their end.
enum Program {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What a program writes to standard output. Its standard error is shown only when it fails.
    static func output(
        of arguments: [String], environment: [String: String] = [:]
    ) throws -> String {
        let (nothing, errors) = (try FileHandle(openingAt: "/dev/null"), try unlinkedFile())
        let output = try Channel()
        let child = try ChildProcess(
            arguments, environment: environment,
            descriptors: [nothing, output.writing, errors].map(\.fileDescriptor))
        try output.writing.close()
        let text = String(decoding: try output.reading.readToEnd() ?? Data(), as: UTF8.self)
        let status = child.wait()
        guard status == 0 else {
            try errors.seek(toOffset: 0)
            let said = String(decoding: try errors.readToEnd() ?? Data(), as: UTF8.self)
            throw Failure(
                description: "\(arguments.joined(separator: " ")) ended with status \(status): \(said.suffix(2000))")
        }
        return text
    }

    /// Runs a program and tells of each line that it writes to standard error, when it does.
    static func run(
        _ arguments: [String], environment: [String: String], onErrorLine: (_ pid: pid_t, Substring) throws -> Void
    ) throws {
        let nothing = try FileHandle(openingAt: "/dev/null")
        let errors = try Channel()
        let child = try ChildProcess(
            arguments, environment: environment, descriptors: [nothing, nothing, errors.writing].map(\.fileDescriptor))
        try errors.writing.close()
        var pending = ""
        var last = ""
        while case let data = errors.reading.availableData, !data.isEmpty {
            pending += String(decoding: data, as: UTF8.self)
            while let end = pending.firstIndex(of: "\n") {
                last = String(pending[..<end])
                try onErrorLine(child.pid, pending[..<end])
                pending = String(pending[pending.index(after: end)...])
            }
        }
        let status = child.wait()
        guard status == 0 else { throw Failure(description: "\(arguments[0]) ended with status \(status): \(last)") }
    }

    private static func unlinkedFile() throws -> FileHandle {
        let name = "native-sso-bench-\(UInt64.random(in: 0...UInt64.max))"
        let path = "\(FileManager.default.temporaryDirectory.path)/\(name)"
        defer { unlink(path) }
        return try FileHandle(openingAt: path)
    }
}
