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

    /// Starts one and waits until it is ready.
    init(_ installation: Installation) throws {
        (publicPort, internalPort) = (try LoopbackPort.free(), try LoopbackPort.free())
        workplace = installation.workplace
        let log = try FileHandle(appendingTo: installation.log)
        let start = ProcessClock.monotonic
        process = try ChildProcess(
            [try BrokerCommands.program(), "serve", "--config", installation.brokerConfiguration],
            environment: ChildProcess.bareEnvironment.merging([
                "NATIVE_SSO_PUBLIC_LISTEN": "127.0.0.1:\(publicPort)",
                "NATIVE_SSO_INTERNAL_LISTEN": "127.0.0.1:\(internalPort)",
            ]) { $1 }, inOwnSession: false, errors: log)
        pid = process.pid
        try workplace.watch(pid)
        while (try? PlainGet.answer(to: "/readyz", port: internalPort))?.status != 200 {
            guard process.isRunning, ProcessClock.monotonic - start < 30_000_000_000 else {
                process.terminate()
                let text = (try? String(contentsOfFile: installation.log, encoding: .utf8)) ?? ""
                throw Program.Failure(description: "the broker does not get ready: \(text.suffix(2000))")
            }
            usleep(1000)  // nobody tells of the moment in which a port begins to listen
        }
        millisecondsToReady = Double(ProcessClock.monotonic - start) / 1e6
    }

    func stop() throws {
        process.terminate()
        _ = process.wait()
        try workplace.release(pid)
    }
}
