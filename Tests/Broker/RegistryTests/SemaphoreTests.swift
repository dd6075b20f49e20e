import Testing

@testable import Registry

@Suite(.timeLimit(.minutes(1))) struct SemaphoreTests {
    @Test func refusesACallWhenTheQueueIsFull() async {
        let semaphore = Semaphore(width: 1, queue: 1)
        #expect(await semaphore.enter())
        async let second = semaphore.enter()
        while semaphore.waiting == 0 { await Task.yield() }
        #expect(await !semaphore.enter())
        semaphore.leave()
        #expect(await second)
        semaphore.leave()
        #expect(await semaphore.enter())
    }

    @Test func refusesCallsThatWaitedTooLong() async {
        let semaphore = Semaphore(width: 1, queue: 8, patience: .zero)
        #expect(await semaphore.enter())
        async let second = semaphore.enter()
        async let third = semaphore.enter()
        while semaphore.waiting < 2 { await Task.yield() }
        semaphore.leave()
        #expect(await !second)
        #expect(await !third)
        #expect(await semaphore.enter())
    }

    @Test func neverMoreThanItsWidth() async {
        let semaphore = Semaphore(width: 2, queue: 100)
        let inside = Inside()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    guard await semaphore.enter() else { return }
                    await inside.enter()
                    await Task.yield()
                    await inside.leave()
                    semaphore.leave()
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
