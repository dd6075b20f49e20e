import JOSE
import NIOConcurrencyHelpers

/// The issuer's key set, loaded according to the policy and shared by all requests.
final class KeyCache: Sendable {
    private let loader: any KeySetLoader
    private let policy: KeyCachePolicy
    private let onLoadFailure: @Sendable (any Error) -> Void
    /// Monotonic time since the start.
    private let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = NIOLockedValueBox(State())

    /// A key set as loaded. Another ``version`` means other keys.
    struct LoadedKeys: Sendable {
        let keys: JSONWebKeySet
        let version: Int
    }

    private struct State {
        var keys: LoadedKeys?
        var loadedAt: Duration = .zero
        var freshFor: Duration = .zero
        var lastAttempt: Duration?
        var failures = 0
        var load: Task<Void, Never>?
    }

    init<C: Clock>(
        loader: any KeySetLoader, policy: KeyCachePolicy, clock: C,
        onLoadFailure: @escaping @Sendable (any Error) -> Void
    ) where C.Duration == Duration {
        self.loader = loader
        self.policy = policy
        self.onLoadFailure = onLoadFailure
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }

    struct KeysUnavailable: Error {}
    private struct TimedOut: Error {}

    /// The keys for verification. Waits only if no usable keys are cached.
    func keys() async throws(KeysUnavailable) -> LoadedKeys {
        if let keys = state.withLockedValue({ usableKeys(&$0) }) { return keys }
        await attempt()?.value
        guard let keys = state.withLockedValue({ usableKeys(&$0) }) else { throw KeysUnavailable() }
        return keys
    }

    /// The keys after a token named an unknown one.
    ///
    /// - Throws: If the last load failed: the issuer may have the key.
    func keysAfterMiss() async throws(KeysUnavailable) -> LoadedKeys {
        await attempt()?.value
        let (keys, failures) = state.withLockedValue { ($0.keys, $0.failures) }
        guard let keys, failures == 0 else { throw KeysUnavailable() }
        return keys
    }

    /// The cached keys, if usable. Starts a background load if they are old.
    private func usableKeys(_ state: inout State) -> LoadedKeys? {
        guard let keys = state.keys else { return nil }
        let age = elapsed() - state.loadedAt
        guard age <= policy.staleIfError else { return nil }
        if age > state.freshFor { _ = attempt(&state) }
        return keys
    }

    private func attempt() -> Task<Void, Never>? { state.withLockedValue { attempt(&$0) } }

    /// The load in flight, or a new one if the last is old enough. Repeated failures increase the pause.
    private func attempt(_ state: inout State) -> Task<Void, Never>? {
        if let load = state.load { return load }
        let pause = policy.coolDown * (1 << min(max(state.failures - 1, 0), 4))
        if let lastAttempt = state.lastAttempt, elapsed() - lastAttempt < pause { return nil }
        state.lastAttempt = elapsed()
        let load = Task { await self.loadAndInstall() }
        state.load = load
        return load
    }

    private func loadAndInstall() async {
        do {
            let document = try await documentInTime()
            let keys = try JSONWebKeySet(document: document.octets)
            state.withLockedValue { state in
                if state.keys?.keys != keys {
                    state.keys = LoadedKeys(keys: keys, version: (state.keys?.version ?? 0) + 1)
                }
                state.loadedAt = elapsed()
                state.freshFor = min(policy.refreshAfter, document.maximumAge ?? policy.refreshAfter)
                state.failures = 0
                state.load = nil
            }
        } catch {
            state.withLockedValue { state in
                state.failures += 1
                state.load = nil
            }
            onLoadFailure(error)
        }
    }

    private func documentInTime() async throws -> KeySetDocument {
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.loader.load() }
            group.addTask {
                try await self.sleep(self.policy.timeout)
                throw TimedOut()
            }
            defer { group.cancelAll() }
            guard let document = try await group.next() else { throw TimedOut() }
            return document
        }
    }
}
