import BrokerHarness
import Foundation
import Testing

@testable import native_sso_bench

@Suite(.timeLimit(.minutes(5))) struct ProcessTests {
    /// proc_pid_stat(5): whatever a program calls itself, the fields are counted from the last parenthesis on.
    @Test func aNameMayHoldAnything() throws {
        let fields = try ProcessStatus.statFields(ofText: "42 (a) R 7 (b c) S 1 42 42 0 -1 4194560")
        #expect(fields.prefix(3) == ["S", "1", "42"])
    }

    @Test func textThatIsNoStatusIsAnError() {
        #expect(throws: ProcessStatus.Unreadable.self) { try ProcessStatus.statFields(ofText: "42 postgres S 1") }
        #expect(throws: ProcessStatus.Unreadable.self) { try ProcessStatus.busyTicks(ofLine: "cpu 1 2 3") }
    }

    /// Idle and waiting for disks is not busy; what the host took is.
    @Test func whatCountsAsBusy() throws {
        #expect(
            try ProcessStatus.busyTicks(ofLine: "cpu  1 20 300 4000 50000 600000 7000000 80000000 0 0") == 87_600_321)
    }

    @Test func aClockCountsWhatItsProcessDoes() throws {
        let (own, thread) = (ProcessClock.own, ProcessClock.thread)
        while ProcessClock.thread - thread < 20_000_000 {}
        #expect(ProcessClock.own - own >= 20_000_000)
        let seen = try #require(ProcessClock.nanoseconds(of: getpid()))
        #expect(seen >= own + 20_000_000)
    }

    /// An unused process number gives `nil`, not zero.
    @Test func aProcessThatIsNotThereHasNoTime() {
        #expect(ProcessClock.nanoseconds(of: 0x3fff_fff0) == nil)
    }

    /// Whatever hangs is named, with what it said.
    @Test func aProgramThatHangsIsKilled() {
        let script = ["/bin/sh", "-c", "echo 'the reason' >&2; exec sleep 600"]
        var lines: [String] = []
        let hang = #expect(throws: ManagedProcess.Failure.self) {
            try Program.run(script, environment: [:], within: .milliseconds(500)) { lines.append(String($1)) }
        }
        #expect(hang?.description.contains("/bin/sh did not end within 0.5 seconds") == true)
        #expect(lines == ["the reason"])
    }

    @Test func memoryIsRead() throws {
        let now = try ProcessStatus.kibibytes("VmRSS", of: getpid())
        #expect(now > 1000)
        #expect(try ProcessStatus.kibibytes("VmHWM", of: getpid()) >= now)
    }
}
