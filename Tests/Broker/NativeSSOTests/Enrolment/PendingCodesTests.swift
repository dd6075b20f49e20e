@testable import NativeSSO
import Testing

/// A stopping broker waits for the background work for codes.
@Suite(.timeLimit(.minutes(1))) struct PendingCodesTests {
    /// Nor after the last work has ended.
    @Test func nothingIsWaitedForInVain() async {
        let pending = PendingCodes()
        await pending.finished()
        await pending.run { #expect(pending.count == 1) }.value
        await pending.finished()
        #expect(pending.count == 0)
    }

    /// Work that pending work starts counts, too.
    @Test func whatIsBegunIsWaitedFor() async {
        let pending = PendingCodes()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let inner = Task {
            await pending.run { pending.run { for await _ in gate {} } }.value
        }
        let task = await inner.value
        async let finished: Void = pending.finished()
        opener.finish()
        await finished
        #expect(pending.count == 0)
        await task.value
    }

    /// The stop has a time limit.
    @Test func aWaitMayBeCancelled() async {
        let pending = PendingCodes()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let work = pending.run { for await _ in gate {} }
        let waiting = Task { await pending.finished() }
        waiting.cancel()
        await waiting.value
        #expect(pending.count == 1)
        opener.finish()
        await work.value
    }
}
