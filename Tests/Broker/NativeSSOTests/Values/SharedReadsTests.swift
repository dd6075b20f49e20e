import BrokerTesting
import NativeSSO
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) final class SharedReadsTests: Sendable {
    private let clock = ManualClock()
    private let begun = Mutex(0)
    private let gate = AsyncStream.makeStream(of: Never.self)

    private func reads(burst: Int = 1, longestWait: Duration = .seconds(1)) -> SharedReads<Int> {
        SharedReads(burst: burst, interval: .milliseconds(200), longestWait: longestWait, clock: clock)
    }

    /// The number of the read that answered.
    private func number(_ reads: SharedReads<Int>, isHeld: Bool = false) async throws(SharedReads<Int>.Refusal) -> Int {
        try await reads.read { [self] in
            let number = begun.withLock { count in
                count += 1
                return count
            }
            if isHeld { for await _ in gate.stream {} }
            return number
        }
    }

    @Test func `who comes during a read gets the next one, which all later ones share`() async throws {
        let reads = reads(burst: 2)
        async let first = number(reads, isHeld: true)
        while begun.withLock({ $0 }) < 1 { await Task.yield() }
        try await withThrowingTaskGroup { group in
            for _ in 0..<255 { group.addTask { try await self.number(reads) } }
            while reads.waiting < 256 { await Task.yield() }
            await #expect(throws: SharedReads<Int>.Refusal.self) { try await self.number(reads) }
            gate.continuation.finish()
            for try await number in group { #expect(number == 2) }
        }
        #expect(try await first == 1)
        #expect(reads.waiting == 0)
    }

    @Test func `a caller that waits no longer leaves the read to others`() async throws {
        let reads = reads()
        async let patient = number(reads, isHeld: true)
        while begun.withLock({ $0 }) < 1 { await Task.yield() }
        let other = Task { () -> Bool in
            do throws(SharedReads<Int>.Refusal) {
                _ = try await reads.read(within: .seconds(3)) { 7 }
                return false
            } catch {
                if case .slow = error { return true }
                return false
            }
        }
        var lengths = clock.sleeps.stream.makeAsyncIterator()
        // Its own limit, and the pause before the next read.
        while let length = await lengths.next(), length != .seconds(3) {}
        clock.advance(by: .seconds(3))
        #expect(await other.value)
        gate.continuation.finish()
        #expect(try await patient == 1)
    }

    @Test func `reads keep within their rate`() async throws {
        let reads = reads()
        #expect(try await number(reads) == 1)
        for expected in 2...6 {
            async let next = number(reads)
            for await length in clock.sleeps.stream {
                #expect(length == .milliseconds(200))
                break
            }
            #expect(begun.withLock { $0 } == expected - 1)
            clock.advance(by: .milliseconds(200))
            #expect(try await next == expected)
        }
    }

    @Test func `without room in time, a read is refused with the time until there is some`() async throws {
        let reads = reads(burst: 2, longestWait: .zero)
        _ = (try await number(reads), try await number(reads))
        clock.advance(by: .milliseconds(150))
        do throws(SharedReads<Int>.Refusal) {
            _ = try await number(reads)
            Issue.record("a third read")
        } catch {
            guard case .noRoom(for: .milliseconds(50)) = error else { throw error }
        }
        clock.advance(by: .milliseconds(50))
        #expect(try await number(reads) == 3)
    }
}
