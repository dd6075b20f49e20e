import ChildProcesses
import Foundation
import PrivateCluster

/// One running broker.
final class RunningBroker {
    let publicPort: UInt16
    let internalPort: UInt16
    let pid: Int32
    /// From the start of its process until it said that it was ready.
    let millisecondsToReady: Double
    private let process: ChildProcess
    private let workplace: Workplace
    private let logFile: String

    /// Starts one and waits until it is ready.
    /// - Parameter environment: Settings beside those of the installation.
    init(_ installation: Installation, environment: [String: String] = [:]) throws {
        (publicPort, internalPort) = (try LoopbackPort.free(), try LoopbackPort.free())
        workplace = installation.workplace
        let log = try FileHandle(appendingTo: installation.log)
        let start = ProcessClock.monotonic
        process = try ChildProcess(
            [try BrokerCommands.program(), "serve", "--config", installation.brokerConfiguration],
            environment: ChildProcess.bareEnvironment.merging([
                "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(publicPort)",
                "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(internalPort)",
            ]) { $1 }.merging(environment) { $1 }, inOwnSession: false, errors: log)
        pid = process.pid
        logFile = installation.log
        try workplace.watch(pid)
        while (try? PlainGet.answer(to: "/readyz", port: internalPort))?.status != 200 {
            guard process.isRunning, ProcessClock.monotonic - start < 30_000_000_000 else {
                process.kill()
                try workplace.release(pid)
                throw Program.Failure(broker: pid, "does not get ready", log: logFile)
            }
            usleep(1000)  // nobody tells of the moment in which a port begins to listen
        }
        millisecondsToReady = Double(ProcessClock.monotonic - start) / 1e6
    }

    /// Starts one, lends it, and stops it afterwards, whatever happened.
    static func lend<Value>(
        _ installation: Installation, environment: [String: String] = [:],
        _ body: (RunningBroker) async throws -> Value
    ) async throws -> Value {
        let broker = try RunningBroker(installation, environment: environment)
        let value: Value
        do {
            value = try await body(broker)
        } catch {
            try? broker.stop()
            throw error
        }
        try broker.stop()
        return value
    }

    /// Asks it to end and waits until it has, for a minute. Harmless where it has.
    func stop() throws {
        process.terminate()
        let status = process.wait(within: .seconds(60))
        if status == nil { process.kill() }
        try workplace.release(pid)
        guard status == nil else { return }
        throw Program.Failure(broker: pid, "did not end within 60 s of SIGTERM, and was killed", log: logFile)
    }
}

extension Program.Failure {
    fileprivate init(broker pid: Int32, _ what: String, log: String) {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        description = "the broker (pid \(pid)) \(what). The end of its log:\n\(text.suffix(2000))"
    }
}
