import ChildProcesses
import Foundation
import Testing

/// Serialized: signals and the first three descriptors belong to the whole process.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ChildProcessTests {
    @Test func theStatusIsTheProgramsOwn() throws {
        #expect(try shell("exit 3").wait() == 3)
        #expect(try shell("kill -TERM $$").wait() == 128 + SIGTERM)
    }

    @Test func aWaitReturnsAtTheEnd() async throws {
        let child = try shell("exec sleep 600")
        let statuses = await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await child.exitStatus } }
            group.addTask { (try? await onOwnThread { child.wait() }) ?? -2 }
            child.signal(SIGKILL)
            return await group.reduce(into: Set<Int32>()) { $0.insert($1) }
        }
        #expect(statuses == [128 + SIGKILL])
        #expect(await child.exitStatus == 128 + SIGKILL)
    }

    @Test func aWaitHasABound() throws {
        let child = try shell("exec sleep 600")
        #expect(child.wait(within: .milliseconds(50)) == nil)
        #expect(child.isRunning)
        child.terminate()
        #expect(child.wait(within: .seconds(30)) == 128 + SIGTERM)
        #expect(!child.isRunning)
    }

    @Test func whatDoesNotListenIsKilled() throws {
        let channel = try PrivateChannel()
        let child = try shell("trap '' TERM; echo ready; while :; do sleep 0.1; done", output: channel.writing)
        #expect(channel.reading.availableData == Data("ready\n".utf8))
        child.terminate()
        #expect(child.wait(within: .milliseconds(50)) == nil)
        child.kill()
        #expect(child.wait(within: .zero) == 128 + SIGKILL)
    }

    /// Its number may be another's by then.
    @Test func whatHasEndedIsNotSignalled() throws {
        let child = try shell("exit 0")
        #expect(child.wait() == 0)
        #expect(kill(child.pid, 0) == -1)
        child.terminate()
        child.kill()
        #expect(child.wait() == 0)
    }

    @Test func aMissingProgramIsAnError() {
        #expect(throws: SystemCallFailure(call: "posix_spawn", errno: ENOENT)) {
            _ = try ChildProcess(
                ["/nonexistent"], environment: [:], inOwnSession: false)
        }
    }

    @Test func noSignalIsBlockedOrIgnored() throws {
        let before = Glibc.signal(SIGUSR1, SIG_IGN)
        defer { Glibc.signal(SIGUSR1, before) }
        var (blocked, previous) = (sigset_t(), sigset_t())
        sigaddset(&blocked, SIGCHLD)
        pthread_sigmask(SIG_BLOCK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        let status = try output(of: ["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])
        let masks = status.matches(of: /\t([0-9a-f]+)\n/).compactMap { UInt64($0.output.1, radix: 16) }
        let ofTheCLibrary: UInt64 = 0x1_8000_0000  // 32 and 33, which no program can block or ignore by itself
        #expect(masks.count == 2 && masks.allSatisfy { $0 & ~ofTheCLibrary == 0 }, "\(status)")
    }

    @Test func noOtherDescriptorIsInherited() throws {
        let inherited = dup2(1, 77)  // not close-on-exec
        defer { close(inherited) }
        let open = try output(of: ["/bin/sh", "-c", "ls /proc/$$/fd"]).split(separator: "\n")
        #expect(open == ["0", "1", "2"])
    }

    /// The next descriptor opened gets the closed number and becomes another standard descriptor. Runs in its own
    /// process, so that no other code gets that number.
    @Test(arguments: [0, 1, 2] as [Int32]) func aClosedStandardDescriptorDoesNotMatter(_ closed: Int32) async {
        await #expect(processExitsWith: .success) { [closed = closed as Int32] in
            let path = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            close(closed)
            for target in ["output", "errors"] {
                let file = try FileHandle(appendingTo: path)
                #expect(file.fileDescriptor == closed)
                let child = try ChildProcess(
                    ["/bin/sh", "-c", "echo to output; echo to errors >&2"], environment: [:], inOwnSession: false,
                    output: target == "output" ? file : nil, errors: target == "errors" ? file : nil)
                #expect(child.wait() == 0)
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "to output\nto errors\n")
            let echoed = try ProgramRun(
                ["/bin/cat"], environment: [:], inOwnSession: false, input: "through\n", within: .seconds(30))
            #expect(echoed.output == "through\n")
        }
    }

    @Test func whatItStartedIsKilledWithIt() async throws {
        let channel = try PrivateChannel()
        let child = try ChildProcess(
            ["/bin/sh", "-c", "sleep 600 & echo started; wait"], environment: ChildProcess.bareEnvironment,
            inOwnSession: true, output: channel.writing)
        try channel.writing.close()
        let lines = LineReader(channel.reading)
        #expect(try await lines.next(within: .seconds(30)) == "started")
        child.kill()
        // Both had it open.
        #expect(try await lines.next(within: .seconds(30)) == nil)
    }

    @Test func aWriteWithoutReaderIsAnError() throws {
        let channel = try PrivateChannel()
        try channel.reading.close()
        #expect(throws: SystemCallFailure(call: "send", errno: EPIPE)) { try channel.writing.send("anything") }
    }

    @Test func aSessionOfItsOwnOnRequest() throws {
        let program = ["/bin/sh", "-c", "cut -d ' ' -f 1,6 /proc/$$/stat"]
        let own = try output(of: program, inOwnSession: true).split(whereSeparator: \.isWhitespace)
        #expect(own.count == 2 && own[0] == own[1])
        let shared = try output(of: program).split(whereSeparator: \.isWhitespace)
        #expect(shared.last == "\(getsid(0))")
    }

    private func shell(_ script: String, output: FileHandle? = nil) throws -> ChildProcess {
        try ChildProcess(
            ["/bin/sh", "-c", script], environment: ChildProcess.bareEnvironment, inOwnSession: false,
            output: output)
    }

    private func output(of arguments: [String], inOwnSession: Bool = false) throws -> String {
        try ProgramRun(
            arguments, environment: ChildProcess.bareEnvironment, inOwnSession: inOwnSession, within: .seconds(30)
        ).output
    }
}
