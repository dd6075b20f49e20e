import Foundation
import BrokerHarness
import Testing

/// Programs beside this one: what is seen of them, and that each of them ends.
@Suite(.timeLimit(.minutes(2))) final class ManagedProcessTests: Sendable {
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

    @Test func itsLinesAndItsEndAreSeen() async throws {
        let process = try shell("echo one; echo two; exit 3")
        #expect(try await process.nextLine() == "one")
        #expect(try await process.nextLine() == "two")
        #expect(try await process.nextLine() == nil)
        #expect(await process.exitStatus == 3)
        await process.terminate(within: .seconds(5))
    }

    @Test func itIsAskedToEnd() async throws {
        let process = try shell("trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
        #expect(try await process.nextLine() == "ready")
        await process.terminate(within: .seconds(5))
        #expect(try await process.nextLine() == "asked")
        #expect(!ManagedProcess.isAlive(process.pid))
    }

    @Test func whatDoesNotListenIsKilled() async throws {
        let process = try shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        #expect(try await process.nextLine() == "ready")
        await process.terminate(within: .seconds(5))
        #expect(await process.exitStatus == 128 + SIGKILL)
    }

    @Test func whatIsFrozenEndsToo() async throws {
        let process = try shell("echo ready; exec sleep 600")
        #expect(try await process.nextLine() == "ready")
        kill(process.pid, SIGSTOP)
        await process.terminate(within: .seconds(5))
        #expect(!ManagedProcess.isAlive(process.pid))
    }

    @Test func itsNumberIsThatOfTheProgram() async throws {
        let process = try shell("echo $$; exec sleep 600")
        #expect(try await process.nextLine() == String(process.pid))
        kill(process.pid, SIGKILL)
        #expect(await process.exitStatus == 128 + SIGKILL)
    }

    @Test func theEndOfOneLeavesTheOthersAlone() async throws {
        let first = try shell("echo ready; exec sleep 600")
        let second = try shell("echo ready; exec sleep 600")
        await first.terminate(within: .seconds(5))
        #expect(ManagedProcess.isAlive(second.pid))
        await second.terminate(within: .seconds(5))
    }

    @Test func aFailedRunTellsWhatWasSaid() async throws {
        let failure = try #require(await failure(of: ["/bin/sh", "-c", "echo the reason >&2; exit 7"]))
        #expect(failure.contains("example ended with status 7"))
        #expect(failure.contains("the reason"))
    }

    @Test func aRunHasABound() async throws {
        let failure = try #require(await failure(of: ["/bin/sleep", "600"], within: .milliseconds(200)))
        #expect(failure.contains("example did not end within 0.2 seconds"))
    }

    @Test func aProcessThatIsNotReadyIsEnded() async throws {
        let process = try shell("echo waiting; exec sleep 600")
        let failure = await #expect(throws: ManagedProcess.Failure.self) { try await process.waitForReadiness("ready") }
        #expect(failure?.description.contains("test did not say that it is ready, but waiting") == true)
        #expect(!ManagedProcess.isAlive(process.pid))
        let ended = try shell("echo the reason >&2; exit 7")
        let end = await #expect(throws: ManagedProcess.Failure.self) { try await ended.waitForReadiness("ready") }
        #expect(end?.description.contains("test has ended (status 7)") == true)
        #expect(end?.description.contains("the reason") == true)
    }

    @Test func aMissingProgramIsAFailure() async throws {
        #expect(await failure(of: ["/nonexistent"]) != nil)
    }

    @Test func itSeesNothingOfTheEnvironment() async throws {
        let run = try await ManagedProcess.run("/usr/bin/env", [], environment: ["A": "b"])
        #expect(Set(run.output.split(separator: "\n").map { $0.prefix { $0 != "=" } }) == ["PATH", "LC_ALL", "A"])
    }

    private func failure(
        of arguments: [String], within limit: Duration = .seconds(30)
    ) async -> String? {
        do {
            _ = try await ManagedProcess.output(
                of: arguments[0], Array(arguments.dropFirst()), name: "example", within: limit)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func sleeper() throws -> ManagedProcess { try ManagedProcess("/bin/sleep", ["600"], log: log) }

    private func shell(_ script: String) throws -> ManagedProcess {
        try ManagedProcess("/bin/sh", ["-c", script], name: "test", log: log)
    }
}
