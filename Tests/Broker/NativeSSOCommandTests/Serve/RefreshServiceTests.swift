import Testing

@testable import native_sso

@Suite(.timeLimit(.minutes(1))) struct RefreshServiceTests {
    @Test func runsAtTheStartAndAfterEachHint() async {
        let (changes, change) = AsyncStream.makeStream(of: Int.self)
        let (runs, run) = AsyncStream.makeStream(of: Void.self)
        let service = RefreshService(changes: changes, interval: .seconds(3600)) { run.yield() }
        let running = Task { await service.run() }
        var seen = runs.makeAsyncIterator()
        await seen.next()
        for number in 0..<3 {
            change.yield(number)
            await seen.next()
        }
        running.cancel()
        await running.value
    }

    @Test func runsAgainAfterTheIntervalWithoutAHint() async {
        let (changes, change) = AsyncStream.makeStream(of: Int.self)
        let (runs, run) = AsyncStream.makeStream(of: Void.self)
        change.finish()
        let service = RefreshService(changes: changes, interval: .milliseconds(1)) { run.yield() }
        let running = Task { await service.run() }
        var seen = runs.makeAsyncIterator()
        for _ in 0..<3 { await seen.next() }
        running.cancel()
        await running.value
    }
}
