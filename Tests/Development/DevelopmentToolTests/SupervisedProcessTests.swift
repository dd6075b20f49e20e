import Foundation
import Testing

@testable import native_sso_dev

@Suite(.timeLimit(.minutes(2))) final class SupervisedProcessTests: Sendable {
    private let log = NSTemporaryDirectory() + "supervised-" + UUID().uuidString
    private static let environment = ["PATH": "/usr/bin:/bin"]

    deinit { try? FileManager.default.removeItem(atPath: log) }

    @Test func itsLinesAndItsEndAreSeen() async throws {
        let process = try await shell("echo one; echo two; exit 3")
        #expect(await process.nextLine() == "one")
        #expect(await process.nextLine() == "two")
        #expect(await process.nextLine() == nil)
        #expect(await process.waitForEnd() == 3)
        try await process.stop()
    }

    @Test func itIsAskedToEnd() async throws {
        let process = try await shell("trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
        #expect(await process.nextLine() == "ready")
        try await process.stop()
        #expect(await process.nextLine() == "asked")
        #expect(!isAlive(process.pid))
    }

    @Test func whatDoesNotListenIsKilled() async throws {
        let process = try await shell("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        #expect(await process.nextLine() == "ready")
        try await process.stop()
        #expect(await process.waitForEnd() == 128 + SIGKILL)
    }

    @Test func whatIsFrozenEndsToo() async throws {
        let process = try await shell("echo ready; exec sleep 600")
        #expect(await process.nextLine() == "ready")
        kill(process.pid, SIGSTOP)
        try await process.stop()
        #expect(!isAlive(process.pid))
    }

    @Test func itsNumberIsThatOfTheProgram() async throws {
        let process = try await shell("echo $$; exec sleep 600")
        #expect(await process.nextLine() == String(process.pid))
        kill(process.pid, SIGKILL)
        #expect(await process.waitForEnd() == 128 + SIGKILL)
    }

    @Test func noChildHoldsTheLifelineOfAnother() async throws {
        let first = try await shell("echo ready; exec sleep 600")
        let second = try await shell("echo ready; exec sleep 600")
        // The second outlives the first: were it to hold the first one's lifeline, this would take until its end.
        try await first.stop()
        #expect(isAlive(second.pid))
        try await second.stop()
    }

    @Test func aFailedRunTellsWhatWasSaid() async throws {
        let failure = try #require(await failure(of: ["/bin/sh", "-c", "echo the reason >&2; exit 7"]))
        #expect(failure.description.contains("example ended with status 7"))
        #expect(failure.description.contains("the reason"))
    }

    @Test func aRunHasABound() async throws {
        let failure = try #require(await failure(of: ["/bin/sleep", "600"], within: .milliseconds(200)))
        #expect(failure.description.contains("example did not end within 0.2 seconds"))
    }

    @Test func aProcessThatIsNotReadyIsEnded() async throws {
        let process = try await shell("echo waiting; exec sleep 600")
        let failure = await #expect(throws: ProcessFailure.self) { try await process.waitForReadiness("ready") }
        #expect(failure?.description.contains("test did not say that it is ready, but waiting") == true)
        #expect(!isAlive(process.pid))
        let ended = try await shell("echo the reason >&2; exit 7")
        let end = await #expect(throws: ProcessFailure.self) { try await ended.waitForReadiness("ready") }
        #expect(end?.description.contains("test has ended (status 7)") == true)
        #expect(end?.description.contains("the reason") == true)
    }

    @Test func aMissingProgramIsAFailure() async throws {
        #expect(await failure(of: ["/nonexistent"]) != nil)
    }

    @Test func cancellingARunEndsIt() async throws {
        let log = log
        let marker = log + ".ready"
        defer { try? FileManager.default.removeItem(atPath: marker) }
        let task = Task {
            try await SupervisedProcess.run(
                "sleeper", ["/bin/sh", "-c", "echo $$ > \(marker); exec sleep 600"], environment: Self.environment,
                log: log)
        }
        var pid: Int32?
        while pid == nil {
            pid = (try? String(contentsOfFile: marker, encoding: .utf8)).flatMap { Int32($0.dropLast()) }
            await Task.yield()
        }
        task.cancel()
        _ = await task.result
        let ended = try #require(pid)
        #expect(!isAlive(ended))
    }

    private func failure(of arguments: [String], within limit: Duration = .seconds(30)) async -> ProcessFailure? {
        do {
            _ = try await SupervisedProcess.run(
                "example", arguments, environment: Self.environment, log: log, within: limit)
            return nil
        } catch {
            return error as? ProcessFailure
        }
    }

    private func shell(_ script: String) async throws -> SupervisedProcess {
        try await SupervisedProcess("test", ["/bin/sh", "-c", script], environment: Self.environment, log: log)
    }
}

/// Whether a process runs; one that ended and was not waited for does not.
func isAlive(_ pid: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
        let name = stat.lastIndex(of: ")")  // pid (name) state …
    else { return false }
    return stat[name...].split(separator: " ").dropFirst().first != "Z"
}
