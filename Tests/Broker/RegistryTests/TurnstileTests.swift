import Testing

@testable import Registry

@Suite(.timeLimit(.minutes(1))) struct TurnstileTests {
    @Test func whoComesWhenTheLineIsFullIsTurnedAway() async {
        let turnstile = Turnstile(width: 1, queue: 1)
        #expect(await turnstile.enter())
        async let second = turnstile.enter()
        while turnstile.waiting == 0 { await Task.yield() }
        #expect(await !turnstile.enter())
        turnstile.leave()
        #expect(await second)
        turnstile.leave()
        #expect(await turnstile.enter())
    }

    @Test func whoWaitedTooLongIsTurnedAwayWhenSomebodyLeaves() async {
        let turnstile = Turnstile(width: 1, queue: 8, patience: .zero)
        #expect(await turnstile.enter())
        async let second = turnstile.enter()
        async let third = turnstile.enter()
        while turnstile.waiting < 2 { await Task.yield() }
        turnstile.leave()
        #expect(await !second)
        #expect(await !third)
        #expect(await turnstile.enter())
    }

    @Test func neverMoreThanItsWidth() async {
        let turnstile = Turnstile(width: 2, queue: 100)
        let inside = Inside()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    guard await turnstile.enter() else { return }
                    await inside.enter()
                    await Task.yield()
                    await inside.leave()
                    turnstile.leave()
                }
            }
        }
        #expect(await inside.most <= 2)
        #expect(await inside.all == 50)
    }
}

private actor Inside {
    private var now = 0
    private(set) var most = 0
    private(set) var all = 0

    func enter() {
        now += 1
        all += 1
        most = max(most, now)
    }

    func leave() { now -= 1 }
}
