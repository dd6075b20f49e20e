import JOSE
public import Logging
public import NativeSSO
import StrictCoding
import Synchronization

/// The keys of one issuer: fetched in the background, read by every request without waiting.
///
/// - A key set that cannot be fetched, or is garbage, changes nothing: the known keys stay in use for 24 hours.
/// - A token that no known key explains causes a fetch, shared by all who wait for it, but never more than one in 30 s.
/// - Without a key set every token is met with an outage (503), never with a refusal.
public final class ProviderKeys: Sendable {
    public struct Settings: Sendable {
        /// Between two fetches in the background; at least 30 s.
        public var refreshInterval: Duration
        /// Between two fetches that tokens ask for.
        public var coolDown: Duration
        /// How long a key set is used after it was last fetched.
        public var longestOutage: Duration
        /// Whether a key that left the key set still verifies subject tokens issued in its life. Where not, removal from the
        /// key set is revocation, within ``refreshInterval`` on every replica.
        public var honoursRetiredKeys: Bool

        public init(
            refreshInterval: Duration = .seconds(300), coolDown: Duration = .seconds(30),
            longestOutage: Duration = .seconds(24 * 3600), honoursRetiredKeys: Bool = true
        ) {
            self.refreshInterval = max(refreshInterval, .seconds(30))
            self.coolDown = coolDown
            self.longestOutage = longestOutage
            self.honoursRetiredKeys = honoursRetiredKeys
        }
    }

    public let issuer: Issuer
    let settings: Settings
    private let fetcher: any KeySetFetching
    private let archive: any KeyArchive
    private let wallClock: any WallClock
    /// Since an arbitrary instant. Not the wall clock, which can be set back and would then forbid fetches for hours.
    private let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var snapshot = KeySnapshot()
        var lastAttempt: Duration?
        var refresh: Task<Void, Never>?
    }

    public init<C: Clock>(
        issuer: Issuer, fetcher: any KeySetFetching, archive: any KeyArchive, settings: Settings = Settings(),
        wallClock: any WallClock, clock: C = ContinuousClock(), logger: Logger
    ) where C.Duration == Duration {
        self.issuer = issuer
        self.fetcher = fetcher
        self.archive = archive
        self.settings = settings
        self.wallClock = wallClock
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
        self.logger = logger
    }

    /// Whether tokens of this issuer can be verified now.
    public var isReady: Bool { isUsable(snapshot) }

    /// Where users log in, as the latest discovery document that could be read says.
    public var authorizationEndpoint: String? { snapshot.endpoints.authorization?.string }

    /// What else it says.
    var endpoints: ProviderEndpoints { snapshot.endpoints }

    /// Fetches at once and then for ever, until the task is cancelled.
    public func run() async {
        var failures = 0
        while !Task.isCancelled {
            await refresh()
            failures = snapshot.failure == nil ? 0 : failures + 1
            do { try await sleep(delay(afterFailures: failures)) } catch { return }
        }
    }

    /// Fetches now, whenever it was done last: somebody says that the keys changed.
    public func readAgain() async {
        // One that is under way may have read what is old by now.
        await state.withLock { $0.refresh }?.value
        await refresh()
    }

    /// Reads revocations and sightings of other replicas again; for when the archive says that it changed.
    public func reloadArchive() async {
        let archived = await readArchive(recording: [])
        state.withLock { $0.snapshot.merge(archived) }
    }

    // MARK: For verification

    var snapshot: KeySnapshot { state.withLock { $0.snapshot } }

    /// Whether `snapshot` may be used: a key set not older than the longest outage, and the archive known.
    func isUsable(_ snapshot: KeySnapshot) -> Bool {
        snapshot.current != nil && snapshot.isArchiveRead && elapsed() - snapshot.fetchedAt <= settings.longestOutage
    }

    /// How far a token's `iat` may lie outside the recorded life of its key: a key is seen only every ``Settings/refreshInterval``,
    /// and the clocks of issuer and broker differ.
    var lifeTolerance: Seconds { Seconds(settings.refreshInterval.components.seconds + 60) }

    /// A newer snapshot for a token that the present one does not explain: waits for the fetch under way, or makes one if the
    /// last began long enough ago.
    func snapshotAfterMiss() async -> KeySnapshot {
        let task = state.withLock { state -> Task<Void, Never>? in
            if let lastAttempt = state.lastAttempt, state.refresh == nil, elapsed() - lastAttempt < settings.coolDown {
                return nil
            }
            return begin(&state)
        }
        await task?.value
        return snapshot
    }

    // MARK: Refreshing

    func refresh() async {
        await state.withLock { begin(&$0) }.value
    }

    /// The fetch under way, or a new one.
    private func begin(_ state: inout State) -> Task<Void, Never> {
        if let task = state.refresh { return task }
        state.lastAttempt = elapsed()
        let task = Task { await self.fetchAndInstall() }
        state.refresh = task
        return task
    }

    private func fetchAndInstall() async {
        let fetched: Result<FetchedKeySet, KeySetFetchError>
        do throws(KeySetFetchError) {
            fetched = .success(try await fetcher.fetch())
        } catch {
            fetched = .failure(error)
        }
        let archived = await readArchive(recording: (try? fetched.get())?.keys.keys ?? [])
        let (old, new) = state.withLock { state in
            let old = state.snapshot
            install(fetched, archived, in: &state.snapshot)
            state.refresh = nil
            return (old, state.snapshot)
        }
        report(old, new)
    }

    private func install(
        _ fetched: Result<FetchedKeySet, KeySetFetchError>, _ archived: ArchivedKeys?, in snapshot: inout KeySnapshot
    ) {
        snapshot.merge(archived)
        switch fetched {
        case .success(let fetched):
            snapshot.history.see(fetched.keys.keys, at: wallClock.now)
            snapshot.current = fetched.keys
            snapshot.fetchedAt = elapsed()
            snapshot.endpoints = fetched.endpoints
            snapshot.failure = nil
        case .failure(let failure): snapshot.failure = failure
        }
    }

    private func readArchive(recording keys: [JSONWebKey]) async -> ArchivedKeys? {
        do throws(PortError) {
            if !keys.isEmpty { try await archive.record(keys, of: issuer) }
            return try await archive.keys(of: issuer)
        } catch {
            logger.warning("key archive unavailable", metadata: ["issuer": "\(issuer)", "error": "\(error)"])
            return nil
        }
    }

    /// A second while there is nothing to work with, then slower; never slower than the ordinary interval.
    private func delay(afterFailures failures: Int) -> Duration {
        guard failures > 0 else { return settings.refreshInterval }
        let first: Duration = isReady ? .seconds(30) : .seconds(1)
        let longest: Duration = isReady ? settings.refreshInterval : .seconds(30)
        return min(first * (1 << min(failures - 1, 10)), longest)
    }
}

extension ProviderKeys {
    /// Tells the operator what changed. Keys are named by thumbprint: a `kid` is the issuer's free text.
    func report(_ old: KeySnapshot, _ new: KeySnapshot) {
        if let failure = new.failure {
            log(.warning, "key set not refreshed", ["error": "\(failure)", "usable": "\(isReady)"])
            return
        }
        if old.failure != nil { log(.notice, "key set refreshed again", [:]) }
        guard let before = old.current, let now = new.current else {
            log(.info, "key set loaded", ["keys": "\(new.current?.keys.count ?? 0)"])
            return
        }
        // Nobody else may announce a key in the issuer's name: an unplanned one is worth a look.
        for key in now.keys where !before.contains(key) { log(.notice, "key appeared", ["key": name(key)]) }
        for key in before.keys where !now.contains(key) { log(.notice, "key retired", ["key": name(key)]) }
        if now.skipped != before.skipped {
            log(.notice, "unusable keys in key set", ["count": "\(now.skipped.count)"])
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        logger.log(level: level, message, metadata: metadata.merging(["issuer": "\(issuer)"]) { $1 })
    }

    private func name(_ key: JSONWebKey) -> Logger.MetadataValue { "\(Base64URL.encode(key.thumbprint))" }
}

extension JSONWebKeySet {
    fileprivate func contains(_ key: JSONWebKey) -> Bool { keys.contains { $0.thumbprint == key.thumbprint } }
}
