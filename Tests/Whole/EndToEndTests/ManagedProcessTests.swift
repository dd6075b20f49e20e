import Foundation
import BrokerHarness
import Testing

/// What keeps a test that hangs from hanging for ever.
@Suite(.timeLimit(.minutes(1))) final class ManagedProcessTests: Sendable {
    private let log = FileManager.default.temporaryDirectory.appending(path: "managed-\(Unguessable.make()).log")

    deinit { try? FileManager.default.removeItem(at: log) }

    @Test func cancellationKillsTheProcess() async throws {
        let process = try sleeper()
        let wait = Task { await process.exitStatus }
        wait.cancel()
        #expect(await wait.value == 128 + SIGKILL)
        let silent = try sleeper()
        let line = Task { try await silent.nextLine() }
        line.cancel()
        #expect(try await line.value == nil)
        #expect(await silent.exitStatus == 128 + SIGKILL)
        let run = Task { [log] in try await ManagedProcess.run("/bin/sleep", ["600"], log: log) }
        run.cancel()
        #expect(try await run.value.status == 128 + SIGKILL)
    }

    @Test func whatTakesTooLongIsKilled() async throws {
        let script = "sleep 30 & echo begun; exec sleep 600"
        let run = try await ManagedProcess.run("/bin/sh", ["-c", script], log: log, within: .milliseconds(500))
        #expect(run.status == 128 + SIGKILL)
        #expect(run.output == "begun\n")
        let silent = try sleeper()
        await #expect(throws: (any Error).self) { try await silent.nextLine(within: .milliseconds(50)) }
        #expect(await silent.exitStatus == 128 + SIGKILL)
    }

    private func sleeper() throws -> ManagedProcess { try ManagedProcess("/bin/sleep", ["600"], log: log) }
}
