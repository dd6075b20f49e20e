import JOSE
package import Logging
package import NativeSSO
import StrictCoding
import Synchronization

/// The keys of one issuer: fetched in the background, and read by requests without waiting.
///
/// - If a fetch fails, the known keys stay in use for 24 hours.
/// - A token with an unknown `kid`, or with none that a known key verifies, is undecided until a fetch that began after it came.
///   Requests share these fetches: four at once, and one more each 30 s. Without room for one, the token gets an outage.
/// - A token that a known key should have verified causes a fetch if the last one began 30 s ago.
/// - Without a key set, every token gets an outage (503), never a refusal.
package final class ProviderKeys: Sendable {
    package struct Settings: Sendable {
        /// The time between two background fetches; at least 30 s.
        package var refreshInterval: Duration
        /// Whether a retired key still verifies subject tokens issued in its life. If not, removal from the key set
        /// revokes a key within ``refreshInterval`` on every broker.
        package var honoursRetiredKeys: Bool

        package init(refreshInterval: Duration = .seconds(300), honoursRetiredKeys: Bool = true) {
            self.refreshInterval = max(refreshInterval, .seconds(30))
            self.honoursRetiredKeys = honoursRetiredKeys
        }
    }

    /// The time after which a token that a known key should have verified causes a fetch.
    private static let coolDown: Duration = .seconds(30)
    /// The fetches for tokens. Forgers can use them up: then a token with an unknown `kid` gets an outage of its own kind.
    private let reads: SharedReads<Void>
    /// How long a key set stays in use after its last fetch.
    private static let longestOutage: Duration = .seconds(24 * 3600)

    package let issuer: Issuer
    let settings: Settings
    private let fetcher: any KeySetFetching
    private let archive: any KeyArchive
    private let wallClock: any WallClock
    /// Not the wall clock: if that is set back, it would block fetches for hours.
    private let time: ElapsedTime
    let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var snapshot = KeySnapshot()
        var lastAttempt: Duration?
        var failedFetches: Int64 = 0
        var archiveVersion: String?
        var refresh: Task<Void, Never>?
        /// The first fetch, until ``run()`` has waited for it.
        var begun: Task<Void, Never>?
    }

    package init<C: Clock>(
        issuer: Issuer, fetcher: any KeySetFetching, archive: any KeyArchive, settings: Settings = Settings(),
        wallClock: any WallClock, clock: C = ContinuousClock(), logger: Logger
    ) where C.Duration == Duration {
        self.issuer = issuer
        self.fetcher = fetcher
        self.archive = archive
        self.settings = settings
        self.wallClock = wallClock
        time = ElapsedTime(by: clock)
        reads = SharedReads(burst: 4, interval: Self.coolDown, longestWait: .zero, clock: clock)
        self.logger = logger
    }

    /// Whether tokens of this issuer can be verified now.
    package var isReady: Bool { isUsable(snapshot) }

    /// The time since the last good fetch, or since the start if there was none, and how many fetches have failed.
    package var fetches: (age: Duration, failed: Int64) {
        let now = time.now
        return state.withLock { (now - $0.snapshot.fetchedAt, $0.failedFetches) }
    }

    /// RFC 7638 thumbprints of the current key set.
    package var thumbprints: Set<[UInt8]> { Set(snapshot.current?.keys.map(\.thumbprint) ?? []) }

    /// The authorization endpoint in the last discovery document.
    package var authorizationEndpoint: String? { snapshot.endpoints.authorization?.string }

    /// Whether the last discovery document says that authorization responses have `iss`. RFC 9207 §3.
    package var sendsIssuer: Bool { snapshot.endpoints.sendsIssuer }

    /// All endpoints in the last discovery document.
    var endpoints: ProviderEndpoints { snapshot.endpoints }

    /// Begins the first fetch, for which ``run()`` then waits.
    package func begin() { state.withLock { $0.begun = begin(&$0) } }

    /// Fetches at once and then repeatedly, until cancelled.
    package func run() async {
        var failures = 0
        while !Task.isCancelled {
            if let begun = state.withLock({ $0.begun.take() }) { await begun.value } else { await refresh() }
            failures = snapshot.failure == nil ? 0 : failures + 1
            do { try await time.sleep(for: delay(afterFailures: failures)) } catch { return }
        }
    }

    /// Fetches now, regardless of the last fetch, because an operator reports a change.
    package func readAgain() async {
        // A fetch in flight may have read the old keys.
        await state.withLock { $0.refresh }?.value
        await refresh()
    }

    /// Reads revocations and other brokers' sightings again.
    /// - Parameter version: Of the archive's rows now. Nothing is read if it is the version of the last reading.
    package func reloadArchive(_ version: String) async {
        guard state.withLock({ !$0.snapshot.isArchiveRead || $0.archiveVersion != version }) else { return }
        let archived = await readArchive(recording: [])
        state.withLock { state in
            state.snapshot.merge(archived)
            if archived != nil { state.archiveVersion = version }
        }
    }

    // MARK: For verification

    var snapshot: KeySnapshot { state.withLock { $0.snapshot } }

    /// Whether `snapshot` may be used: its key set is not older than the longest outage, and the archive was read.
    func isUsable(_ snapshot: KeySnapshot) -> Bool {
        snapshot.current != nil && snapshot.isArchiveRead && time.now - snapshot.fetchedAt <= Self.longestOutage
    }

    /// How far a token's `iat` may lie outside its key's recorded life: a key is seen only every
    /// ``Settings/refreshInterval``, and clocks differ by up to 60 s.
    var lifeTolerance: Seconds { Seconds(settings.refreshInterval.components.seconds + 60) }

    /// Fetches for a token that no known key verifies.
    /// - Throws: If the rate leaves no room.
    func fetch() async throws(SharedReads<Void>.Refusal) { try await reads.read { await self.readAgain() } }

    /// How many tokens wait for a fetch that begins after they came.
    package var waitingTokens: Int { reads.waiting }

    func fetchInFlight() async { await state.withLock { $0.refresh }?.value }

    /// Waits for the fetch in flight, or fetches if the last fetch is old enough and the rate leaves room.
    func fetchIfDue() async {
        let (inFlight, isDue) = state.withLock { state in
            (state.refresh, state.lastAttempt.map { time.now - $0 >= Self.coolDown } ?? true)
        }
        if let inFlight { await inFlight.value } else if isDue { try? await fetch() }
    }

    // MARK: Refreshing

    func refresh() async { await state.withLock { begin(&$0) }.value }

    /// The fetch in flight, or a new one.
    private func begin(_ state: inout State) -> Task<Void, Never> {
        if let task = state.refresh { return task }
        state.lastAttempt = time.now
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
        // A key that has gone since the last fetch signed until some moment before this one: its life ends now. The time since may
        // be long, after an outage.
        let seen = ((try? fetched.get())?.keys.keys).map { $0 + (snapshot.current?.keys ?? []) } ?? []
        let archived = await readArchive(recording: seen)
        let (old, new) = state.withLock { state in
            let old = state.snapshot
            if case .failure = fetched { state.failedFetches += 1 }
            state.snapshot.see(seen, at: wallClock.now)
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
            snapshot.current = fetched.keys
            snapshot.fetchedAt = time.now
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

    /// Starts at 1 s without a usable key set, otherwise at 30 s. Doubles up to a limit of at most the ordinary
    /// interval.
    private func delay(afterFailures failures: Int) -> Duration {
        guard failures > 0 else { return settings.refreshInterval }
        let first: Duration = isReady ? .seconds(30) : .seconds(1)
        let longest: Duration = isReady ? settings.refreshInterval : .seconds(30)
        return min(first * (1 << min(failures - 1, 10)), longest)
    }
}

extension ProviderKeys {
    /// Logs changes of the key set. Logs thumbprints, because a `kid` is free text of the issuer.
    func report(_ old: KeySnapshot, _ new: KeySnapshot) {
        if let failure = new.failure {
            log(.warning, "key set not refreshed", ["error": "\(failure)", "usable": "\(isReady)"])
            return
        }
        if old.failure != nil { log(.notice, "key set refreshed again", [:]) }
        if let now = new.current, now.skipped != old.current?.skipped ?? [:] {
            let reasons = now.skipped.sorted { $0.key < $1.key }.map { "entry \($0.key + 1): \($0.value)" }
            log(
                .notice, "unusable keys in key set",
                ["count": "\(now.skipped.count)", "reason": .string(reasons.joined(separator: "; "))])
        }
        guard let before = old.current, let now = new.current else {
            log(.info, "key set loaded", ["keys": "\(new.current?.keys.count ?? 0)"])
            return
        }
        // Only the issuer can add a key. The operator should check an unplanned one.
        for key in now.keys where !before.contains(key) { log(.notice, "key appeared", ["key": name(key)]) }
        for key in before.keys where !now.contains(key) { log(.notice, "key retired", ["key": name(key)]) }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        logger.log(level: level, message, metadata: metadata.merging(["issuer": "\(issuer)"]) { $1 })
    }

    private func name(_ key: JSONWebKey) -> Logger.MetadataValue { "\(Base64URL.encode(key.thumbprint))" }
}

extension JSONWebKeySet {
    fileprivate func contains(_ key: JSONWebKey) -> Bool { keys.contains { $0.thumbprint == key.thumbprint } }
}
