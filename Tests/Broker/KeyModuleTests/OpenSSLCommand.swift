import ChildProcesses

/// The `openssl` program: an implementation of the formats that shares no code with the tests.
enum OpenSSLCommand {
    struct Failure: Error {
        /// `nil`: it did not exit.
        let status: Int32?
        let errors: String
    }

    /// The standard output.
    @discardableResult
    static func run(_ arguments: [String]) throws -> [UInt8] {
        let run = try ProgramRun(
            ["/usr/bin/env", "openssl"] + arguments, environment: ChildProcess.bareEnvironment, inOwnSession: true,
            within: .seconds(60))
        guard run.status == 0 else { throw Failure(status: run.status, errors: run.errors) }
        return run.octets
    }
}
