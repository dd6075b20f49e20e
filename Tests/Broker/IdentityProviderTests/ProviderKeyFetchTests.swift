import BrokerTesting
import IdentityProvider
import JOSE
import NativeSSO
import Testing

/// What a token of an unknown key waits for.
@Suite struct ProviderKeyFetchTests {
    private func key(_ keyID: String) throws -> TestKey { try TestKey(.es256, keyID: keyID) }

    // W-12
    @Test func `a flood of forged signatures causes one fetch in 30 seconds`() async throws {
        let (a, forger) = (try key("a"), try key("a"))
        let provider = try await TestProvider.knowing(a)
        for _ in 0..<90 {
            for _ in 0..<10 {
                #expect(await provider.outcome(try provider.idToken(forger)) == .refused(.badSignature))
            }
            #expect(await provider.outcome(try provider.idToken(a)) == .verified)
            provider.advance(by: 1)
        }
        #expect(provider.fetcher.count == 3)  // the first, and two after 30 and 60 s
    }

    /// A forger who names many keys causes four fetches at once and one more each 30 s. Between them no one can tell whether a
    /// key exists, so the answer is not final.
    @Test(arguments: [true, false])
    func `a flood of unknown names causes six fetches in 90 seconds`(isNamed: Bool) async throws {
        let a = try key("a")
        let provider = try await TestProvider.knowing(a)
        for second in 0..<90 {
            for index in 0..<10 {
                let stranger = isNamed ? try a.renamed("\(second)-\(index)") : try TestKey(.es256, keyID: nil)
                let mayFetch = second == 0 ? index < 3 : second % 30 == 0 && index == 0
                #expect(
                    await provider.outcome(try provider.idToken(stranger))
                        == (mayFetch
                            ? .refused(isNamed ? .unknownKey : .badSignature)
                            : .undecided(.identityProvider, retryAfter: Seconds(min(10, Int64(31 - second % 30))))))
            }
            #expect(await provider.outcome(try provider.idToken(a)) == .verified)
            provider.advance(by: 1)
        }
        #expect(provider.fetcher.count == 6)
    }

    /// The issuer changes its key three times within a second, and no token of a new key is refused.
    @Test func `tokens of new keys are never refused`() async throws {
        let provider = try await TestProvider.knowing(try key("a"))
        for name in ["b", "c", "d"] {
            let new = try key(name)
            try provider.fetcher.answer([new])
            #expect(await provider.outcome(try provider.idToken(new)) == .verified)
        }
        let new = try key("e")
        try provider.fetcher.answer([new])
        #expect(
            await provider.outcome(try provider.idToken(new)) == .undecided(.identityProvider, retryAfter: 10))
        provider.advance(by: 30)
        #expect(await provider.outcome(try provider.idToken(new)) == .verified)
    }

    /// An issuer that goes back to an earlier key.
    @Test func `a retired key that is current again verifies after a fetch`() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        try provider.fetcher.answer([b])
        await provider.keys.readAgain()
        provider.advance(by: .days(1))
        await provider.keys.readAgain()
        #expect(await provider.outcome(try provider.idToken(a)) == .refused(.keyRetired))
        try provider.fetcher.answer([a])
        provider.advance(by: 30)
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
    }

    @Test func `a token that comes during a fetch waits for the next one`() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        provider.fetcher.hold()
        var began = provider.fetcher.began.stream.makeAsyncIterator()
        await began.next()
        async let first = provider.outcome(try provider.idToken(b))
        await began.next()
        async let second = provider.outcome(try provider.idToken(b))
        while provider.keys.waitingTokens < 2 { await Task.yield() }
        try provider.fetcher.answer([a, b])
        provider.fetcher.release()
        #expect(try await first == .verified)
        #expect(try await second == .verified)
        #expect(provider.fetcher.count == 3)
    }

    @Test func waitersShareOneFetchAndKnownKeysDoNotWait() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        provider.advance(by: 60)
        try provider.fetcher.answer([a, b])
        provider.fetcher.hold()
        try await withThrowingTaskGroup { group in
            for _ in 0..<100 { group.addTask { await provider.outcome(try provider.idToken(b)) } }
            var began = provider.fetcher.began.stream.makeAsyncIterator()
            await began.next()
            await began.next()  // the second fetch, now held
            #expect(await provider.outcome(try provider.idToken(a)) == .verified)
            provider.fetcher.release()
            for try await outcome in group { #expect(outcome == .verified) }
        }
        #expect(provider.fetcher.count <= 3)  // those that came during the second wait for a third
    }

    /// While the issuer is unreachable, an unknown `kid`, or another signature, may be its new key's.
    @Test(arguments: [("b", SubjectTokenDefect.unknownKey), ("a", .badSignature)])
    func anotherKeyDuringAnOutageIsNoRefusal(name: String, defect: SubjectTokenDefect) async throws {
        let (a, b) = (try key("a"), try key(name))
        let provider = try await TestProvider.knowing(a)
        provider.advance(by: 60)
        provider.fetcher.answer(.timedOut)
        let outcome = TestProvider.Outcome.undecided(.identityProvider, retryAfter: 1)
        #expect(await provider.outcome(try provider.idToken(b)) == outcome)
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        #expect(await provider.outcome(try provider.idToken(b)) == outcome)
        #expect(provider.fetcher.count == (name == "a" ? 2 : 3))
        provider.advance(by: 30)
        try provider.fetcher.answer([a])
        #expect(await provider.outcome(try provider.idToken(b)) == .refused(defect))
    }

    /// Setting the wall clock back must not stop fetches.
    @Test func coolDownDoesNotFollowTheWallClock() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        provider.wallClock.advance(by: -86_400)
        provider.clock.advance(by: .seconds(30))
        try provider.fetcher.answer([a, b])
        #expect(await provider.outcome(try provider.idToken(b)) == .verified)
    }
}
