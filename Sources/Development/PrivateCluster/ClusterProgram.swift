import ChildProcesses

/// A program of the server package that runs to its end.
enum ClusterProgram {
    /// Runs one and gives what it wrote to standard output. Blocks.
    ///
    /// - Parameter limit: What runs longer is killed: a server that hangs must not make its owner hang.
    static func run(
        _ arguments: [String], name: String, environment: [String: String] = [:], input: String = "",
        within limit: Duration = .seconds(120)
    ) throws -> String {
        let run = try PrivateClusterError.mapping { () throws(SystemCallFailure) in
            try ProgramRun(
                arguments, environment: ChildProcess.bareEnvironment.merging(environment) { $1 }, inOwnSession: true,
                input: input, within: limit)
        }
        let said = String((run.output + run.errors).suffix(2000))
        guard let status = run.status else {
            throw PrivateClusterError.programDidNotEnd(name: name, limit: limit, output: said)
        }
        guard status == 0 else {
            throw PrivateClusterError.programFailed(name: name, status: status, output: said)
        }
        return run.output
    }
}

extension PrivateClusterError {
    static func mapping<Value>(_ body: () throws(SystemCallFailure) -> Value) throws(PrivateClusterError) -> Value {
        do { return try body() } catch { throw .system(call: error.call, errno: error.errno) }
    }
}
