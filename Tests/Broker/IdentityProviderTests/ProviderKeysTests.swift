import BrokerTesting
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding
import Testing

@Suite struct ProviderKeysTests {
    private func key(_ keyID: String) throws -> TestKey { try TestKey(.es256, keyID: keyID) }

    /// Runs the background loop while `body` runs.
    private func running(_ provider: TestProvider, _ body: () async throws -> Void) async throws {
        let loop = Task { await provider.keys.run() }
        do { try await body() } catch {
            loop.cancel()
            throw error
        }
        loop.cancel()
        await loop.value
    }

    private func slept(_ provider: TestProvider) async -> Duration? {
        for await length in provider.clock.sleeps.stream { return length }
        return nil
    }

    // W-01: without a key set every token gets an outage.
    @Test func nothingFetchedYet() async throws {
        let a = try key("a")
        let provider = TestProvider(ScriptedFetcher(.unreachable("refused")))
        #expect(!provider.keys.isReady)
        #expect(await provider.outcome(try provider.idToken(a)) == .outage(.identityProvider))
        #expect(await provider.outcome(try provider.idToken(try key("x"))) == .outage(.identityProvider))
        #expect(provider.fetcher.count == 1)
        try provider.fetcher.answer([a])
        #expect(await provider.outcome(try provider.idToken(a)) == .outage(.identityProvider))
        provider.advance(by: 30)
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        #expect(provider.keys.isReady)
        #expect(provider.fetcher.count == 2)
    }

    /// The endpoint arrives with the key set and stays while the IdP is down.
    @Test func theAuthorizationEndpointIsLearned() async throws {
        let a = try key("a")
        let provider = TestProvider(ScriptedFetcher(.unreachable("refused")))
        _ = await provider.outcome(try provider.idToken(a))
        #expect(provider.keys.authorizationEndpoint == nil)
        try provider.fetcher.answer([a], authorizationEndpoint: "https://idp.example.com/authorize")
        await provider.keys.reloadArchive("changed")
        provider.advance(by: 30)
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        #expect(provider.keys.authorizationEndpoint == "https://idp.example.com/authorize")
        provider.fetcher.answer(.unreachable("refused"))
        provider.advance(by: 30)
        _ = await provider.outcome(try provider.idToken(try key("x")))
        await provider.keys.reloadArchive("changed")
        #expect(provider.keys.authorizationEndpoint == "https://idp.example.com/authorize")
        try provider.fetcher.answer([a])
        provider.advance(by: 30)
        _ = await provider.outcome(try provider.idToken(try key("x")))
        #expect(provider.keys.authorizationEndpoint == nil)
    }

    @Test func loopFetchesAtOnceAndThenAtItsInterval() async throws {
        let provider = TestProvider(try ScriptedFetcher([try key("a")]))
        try await running(provider) {
            #expect(await slept(provider) == .seconds(300))
            #expect(provider.keys.isReady)
            for count in 2...4 {
                provider.advance(by: 300)
                #expect(await slept(provider) == .seconds(300))
                #expect(provider.fetcher.count == count)
            }
        }
    }

    @Test func intervalHasALowerBound() {
        #expect(ProviderKeys.Settings(refreshInterval: .seconds(1)).refreshInterval == .seconds(30))
    }

    @Test func loopHurriesUntilItHasKeys() async throws {
        let provider = TestProvider(ScriptedFetcher(.status(500)))
        try await running(provider) {
            for seconds in [1, 2, 4, 8, 16, 30, 30] {
                #expect(await slept(provider) == .seconds(seconds))
                provider.advance(by: Seconds(Int64(seconds)))
            }
        }
    }

    // FT-17: after any failure the known key set stays in use for a day.
    @Test(arguments: [
        KeySetFetchError.timedOut, .unreachable("x"), .redirected, .status(500), .encoded, .tooLarge,
        .metadata(.issuerMismatch), .keySet(.noKeys), .keySet(.ambiguousKeyID), .keySet(.noUsableKey),
    ])
    func failuresKeepTheKnownKeys(failure: KeySetFetchError) async throws {
        let a = try key("a")
        let provider = try await TestProvider.knowing(a)
        provider.fetcher.answer(failure)
        try await running(provider) { () async throws in
            #expect(await slept(provider) == .seconds(30))
            #expect(await provider.outcome(try provider.idToken(a)) == .verified)
            provider.advance(by: .days(1))
            #expect(await provider.outcome(try provider.idToken(a)) == .verified)
            #expect(provider.keys.isReady)
            provider.advance(by: 1)
            #expect(await provider.outcome(try provider.idToken(a)) == .outage(.identityProvider))
            #expect(!provider.keys.isReady)
        }
    }

    // W-13
    @Test func firstTokenOfANewKeySucceeds() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        provider.advance(by: 60)
        try provider.fetcher.answer([a, b])
        #expect(await provider.outcome(try provider.idToken(b)) == .verified)
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        #expect(provider.fetcher.count == 2)
    }

    /// A first sight accepts only keys of the current key set.
    @Test func aKeyIsCurrentWhileItIsInTheKeySet() async throws {
        let (old, new) = (try key("old"), try key("new"))
        let provider = try await TestProvider.knowing(old)
        let token = try provider.idToken(old)
        for (keys, isCurrent) in [([old], true), ([new], false), ([new, old], true)] {
            try provider.fetcher.answer(keys)
            await provider.keys.readAgain()
            #expect(try await provider.verify(token).isKeyCurrent == isCurrent)
        }
        #expect(try await provider.verify(try provider.idToken(new)).isKeyCurrent)
    }

    /// Some issuers rotate without a `kid`, or reuse the `kid`.
    @Test(arguments: [nil, "1"])
    func firstTokenOfANewKeyUnderTheOldNameSucceeds(keyID: String?) async throws {
        let (old, new) = (try TestKey(.es256, keyID: keyID), try TestKey(.es256, keyID: keyID))
        let provider = try await TestProvider.knowing(old)
        provider.advance(by: 60)
        try provider.fetcher.answer([new])
        #expect(await provider.outcome(try provider.idToken(new)) == .verified)
        #expect(provider.fetcher.count == 2)
    }

    // W-14, D12
    @Test func aRetiredKeyVerifiesWhatWasIssuedInItsLife() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = try await TestProvider.knowing(a)
        provider.advance(by: 300)
        try provider.fetcher.answer([b])
        try await running(provider) { #expect(await slept(provider) == .seconds(300)) }
        provider.advance(by: .days(30))

        let provider2 = provider.replica(try ScriptedFetcher([b]))  // a replica that never saw the old key
        provider2.clock.advance(by: .seconds(30 * 86_400))
        for replica in [provider, provider2] {
            func outcome(issuedAt offset: Seconds) async throws -> TestProvider.Outcome {
                let token = try provider.idToken(a, issuedAt: TestProvider.start.adding(offset))
                return await replica.outcome(token, at: provider.wallClock.now)
            }
            // The broker saw it at the start, and missed it 300 s later. The tolerance is the interval plus 60 s.
            #expect(try await outcome(issuedAt: 0) == .verified)
            #expect(try await outcome(issuedAt: 660) == .verified)
            #expect(try await outcome(issuedAt: 661) == .refused(.keyRetired))
            #expect(try await outcome(issuedAt: -360) == .verified)
            #expect(try await outcome(issuedAt: -361) == .refused(.keyRetired))
            #expect(try await outcome(issuedAt: .days(30)) == .refused(.keyRetired))
        }
        #expect(await provider.outcome(try provider.idToken(b)) == .verified)
    }

    @Test func whereRetiringIsRevokingNothingOldPasses() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = TestProvider(try ScriptedFetcher([a]), settings: .init(honoursRetiredKeys: false))
        let token = try provider.idToken(a)
        #expect(await provider.outcome(token) == .verified)
        provider.advance(by: 300)
        try provider.fetcher.answer([b])
        try await running(provider) { _ = await slept(provider) }
        #expect(await provider.outcome(token) == .refused(.keyRetired))
    }

    // J-13
    @Test func aRevokedKeyVerifiesNothing() async throws {
        let (a, b) = (try key("a"), try key("b"))
        let provider = TestProvider(try ScriptedFetcher([a, b]))
        let token = try provider.idToken(a)
        #expect(await provider.outcome(token) == .verified)
        provider.archive.revoke(a)
        await provider.keys.reloadArchive("changed")
        #expect(await provider.outcome(token) == .refused(.keyRevoked))
        #expect(await provider.outcome(try provider.idToken(b)) == .verified)
        provider.advance(by: 300)
        try provider.fetcher.answer([b])
        try await running(provider) { _ = await slept(provider) }
        #expect(await provider.outcome(token) == .refused(.keyRevoked))
        // A forgery with the `kid` of a revoked key is a bad signature.
        #expect(await provider.outcome(try provider.idToken(try key("a"))) == .refused(.badSignature))
    }

    @Test func theArchiveIsReadWhenItChanges() async throws {
        let a = try key("a")
        let provider = try await TestProvider.knowing(a)
        let token = try provider.idToken(a)
        await provider.keys.reloadArchive("1")
        provider.archive.revoke(a)
        await provider.keys.reloadArchive("1")
        #expect(await provider.outcome(token) == .verified)
        await provider.keys.reloadArchive("2")
        #expect(await provider.outcome(token) == .refused(.keyRevoked))
    }

    /// For the metrics: the age goes on during an outage.
    @Test func fetchesAreCounted() async throws {
        let provider = TestProvider(ScriptedFetcher(.unreachable("refused")))
        provider.advance(by: 7)
        await provider.keys.readAgain()
        #expect(provider.keys.fetches == (.seconds(7), 1))
        #expect(provider.keys.thumbprints.isEmpty)
        let a = try key("a")
        try provider.fetcher.answer([a])
        await provider.keys.readAgain()
        #expect(provider.keys.fetches == (.zero, 1))
        #expect(provider.keys.thumbprints == [a.publicKey.thumbprint])
        provider.fetcher.answer(.unreachable("refused"))
        provider.advance(by: 40)
        await provider.keys.readAgain()
        #expect(provider.keys.fetches == (.seconds(40), 2))
    }

    @Test func aNameThatIsUsedAgainStillFindsTheOlderKey() async throws {
        let (old, new) = (try key("1"), try key("1"))
        let provider = try await TestProvider.knowing(old)
        let token = try provider.idToken(old)
        provider.advance(by: 300)
        try provider.fetcher.answer([new])
        try await running(provider) { _ = await slept(provider) }
        #expect(await provider.outcome(try provider.idToken(new)) == .verified)
        #expect(await provider.outcome(token) == .verified)
        #expect(await provider.outcome(try provider.idToken(try key("1"))) == .refused(.badSignature))
    }

    /// Some IdPs list one key twice: for two algorithms, or while they change its `kid`.
    @Test func aKeyOfTwoNamesIsRememberedUnderBoth() async throws {
        let (one, new) = (try key("1"), try key("new"))
        let two = try one.renamed("2")
        let provider = TestProvider(try ScriptedFetcher([one, two]))
        let tokens = [try provider.idToken(one), try provider.idToken(two)]
        for token in tokens { #expect(await provider.outcome(token) == .verified) }
        provider.advance(by: 300)
        for left in [[one, new], [new]] {
            let replica = provider.replica(try ScriptedFetcher(left))
            for token in tokens { #expect(await replica.outcome(token) == .verified) }
        }
        // A revocation applies to every `kid` of the key.
        provider.archive.revoke(one)
        let replica = provider.replica(try ScriptedFetcher([new]))
        for token in tokens { #expect(await replica.outcome(token) == .refused(.keyRevoked)) }
    }

    @Test func withoutTheArchiveNothingIsSaid() async throws {
        let a = try key("a")
        let provider = TestProvider(try ScriptedFetcher([a]))
        provider.archive.setDown(true)
        #expect(await provider.outcome(try provider.idToken(a)) == .outage(.database))
        #expect(!provider.keys.isReady)
        provider.archive.setDown(false)
        await provider.keys.reloadArchive("changed")
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        // After the first read, an outage of the archive changes nothing.
        provider.archive.setDown(true)
        provider.advance(by: 300)
        try await running(provider) { _ = await slept(provider) }
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        #expect(provider.keys.isReady)
    }

    /// A key is revoked, and the archive cannot tell which.
    @Test func whileTheArchiveIsIncompleteNothingIsSaid() async throws {
        let a = try key("a")
        let provider = TestProvider(try ScriptedFetcher([a]))
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
        provider.archive.setComplete(false)
        await provider.keys.reloadArchive("changed")
        #expect(await provider.outcome(try provider.idToken(a)) == .outage(.database))
        #expect(!provider.keys.isReady)
        // It is read again until it is complete, though its version is the same.
        provider.archive.setComplete(true)
        await provider.keys.reloadArchive("changed")
        #expect(await provider.outcome(try provider.idToken(a)) == .verified)
    }
}
