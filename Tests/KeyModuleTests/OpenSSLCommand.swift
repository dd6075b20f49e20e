import Foundation

/// The `openssl` program: an implementation of the formats that shares no code with the tests.
enum OpenSSLCommand {
    struct Failure: Error {
        let status: Int32
        let output: String
    }

    @discardableResult
    static func run(_ arguments: [String]) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let octets = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(status: process.terminationStatus, output: String(decoding: octets, as: UTF8.self))
        }
        return octets
    }
}
