import Foundation

/// The built program, run as a process of its own.
struct BuiltCommand {
    let status: Int32
    let output: String
    let error: String

    private static var executable: URL {
        Bundle.module.bundleURL.deletingLastPathComponent().appending(path: "native-sso")
    }

    /// - Parameter output: Where standard output goes instead of into the result.
    init(
        _ arguments: [String], environment: [String: String] = [:], output: FileHandle? = nil
    ) async throws {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = environment
        let (outputPipe, errorPipe) = (Pipe(), Pipe())
        if let output { process.standardOutput = output } else { process.standardOutput = outputPipe }
        process.standardError = errorPipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try? outputPipe.fileHandleForWriting.close()
        try? errorPipe.fileHandleForWriting.close()
        self.output = String(decoding: outputPipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        self.error = String(decoding: errorPipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
    }
}
