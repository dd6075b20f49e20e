import ChildProcesses
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProgramRunTests {
    @Test func whatGoesInComesOut() throws {
        let text = String(repeating: "more than a pipe holds\n", count: 10_000)
        let run = try run("cat; echo 'and a complaint' >&2; exit 4", input: text)
        #expect(run.status == 4)
        #expect(run.output == text)
        #expect(run.errors == "and a complaint\n")
    }

    @Test func whatTakesTooLongIsKilled() throws {
        let run = try run("echo begun; exec sleep 600", within: .milliseconds(200))
        #expect(run.status == nil)
        #expect(run.output == "begun\n" || run.output.isEmpty)
    }

    @Test func whatAProgramLeavesBehindIsNotWaitedFor() throws {
        let start = ContinuousClock.now
        #expect(try run("sleep 20 & echo $!").status == 0)
        #expect(ContinuousClock.now - start < .seconds(15))
    }

    /// Cancellation may come at any moment, even before the start: no sleep continues, and no process gets a signal.
    @Test func aCancelledDeadlineSendsNoSignal() throws {
        let script = """

            sleep 30 &
            watched=$!
            for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
                end_within 20 KILL $watched &
                timer=$!
                [ $round -lt 10 ] || sleep 0.0$((round - 10))
                kill $timer
                wait $timer
            done
            kill -TERM $watched
            wait $watched
            """
        #expect(try run(ShellDeadline.function + script, within: .seconds(15)).status == 128 + 15)
    }

    @Test func aDeadlineSignalsOneAfterTheOther() throws {
        let script = """

            trap '' TERM
            sleep 600 &
            watched=$!
            end_within 0.1 TERM $watched 0.1 KILL $watched &
            wait $watched
            """
        #expect(try run(ShellDeadline.function + script, within: .seconds(30)).status == 128 + 9)
    }

    private func run(
        _ script: String, input: String = "", within limit: Duration = .seconds(30)
    ) throws -> ProgramRun {
        try ProgramRun(
            ["/bin/sh", "-c", script], environment: ChildProcess.bareEnvironment, inOwnSession: true, input: input,
            within: limit)
    }
}
