import BrokerTesting
import JOSE
import Logging
import NativeSSO
import StrictCoding
import Synchronization
import Testing

@testable import IdentityProvider

/// Answers fetches from a script and counts them.
final class ScriptedFetcher: KeySetFetching {
    private struct State {
        var answer: Result<FetchedKeySet, KeySetFetchError>
        var count = 0
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    /// One element per started fetch.
    let began = AsyncStream<Void>.makeStream()

    init(_ keys: [TestKey]) throws {
        state = Mutex(State(answer: .success(FetchedKeySet(keys: try JSONWebKeySet(keys.map(\.publicKey))))))
    }
    init(_ failure: KeySetFetchError) { state = Mutex(State(answer: .failure(failure))) }

    var count: Int { state.withLock { $0.count } }

    func answer(_ keys: [TestKey], authorizationEndpoint: String? = nil) throws {
        let set = FetchedKeySet(
            keys: try JSONWebKeySet(keys.map(\.publicKey)),
            endpoints: ProviderEndpoints(authorization: authorizationEndpoint.flatMap { ProviderURL($0) }))
        state.withLock { $0.answer = .success(set) }
    }

    func answer(_ failure: KeySetFetchError) { state.withLock { $0.answer = .failure(failure) } }

    /// Lets fetches begin but not end until ``release()``.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func fetch() async throws(KeySetFetchError) -> FetchedKeySet {
        state.withLock { $0.count += 1 }
        began.continuation.yield()
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return try state.withLock { $0.answer }.get()
    }
}

/// An archive in memory, with the semantics that the protocol promises.
final class MemoryKeyArchive: KeyArchive {
    private struct State {
        var lives: [JSONWebKey: ArchivedKey] = [:]
        var revoked: Set<[UInt8]> = []
        var isDown = false
        var isComplete = true
    }

    private let clock: FixedClock
    private let state = Mutex(State())

    init(clock: FixedClock) { self.clock = clock }

    func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

    func setComplete(_ isComplete: Bool) { state.withLock { $0.isComplete = isComplete } }

    func revoke(_ key: TestKey) {
        state.withLock { state in _ = state.revoked.insert(key.publicKey.thumbprint) }
    }

    func keys(of issuer: Issuer) async throws(PortError) -> ArchivedKeys {
        let keys = state.withLock { state in
            state.isDown
                ? nil
                : ArchivedKeys(
                    lives: Array(state.lives.values), revoked: state.revoked, isComplete: state.isComplete)
        }
        guard let keys else { throw .outage(Outage(.database, "down")) }
        return keys
    }

    func record(_ keys: [JSONWebKey], of issuer: Issuer) async throws(PortError) {
        let isDown = state.withLock { state in
            for key in keys where !state.isDown {
                let known = state.lives[key]
                state.lives[key] = ArchivedKey(
                    key: key, firstSeen: known?.firstSeen ?? clock.now, lastSeen: clock.now)
            }
            return state.isDown
        }
        if isDown { throw .outage(Outage(.database, "down")) }
    }
}

/// One issuer. The test controls its clocks, fetcher and archive.
struct TestProvider {
    static let start = UnixTime(seconds: 1_795_000_000)
    static let issuer = Issuer(validated: "https://idp.example.com")
    /// Without prefix, beside one that has one.
    static let subjects = SubjectPrefixes([
        issuer: "", Issuer(validated: "https://other.example"): "other|",
    ])

    let clock = ManualClock()
    let wallClock: FixedClock
    let archive: MemoryKeyArchive
    let fetcher: ScriptedFetcher
    let keys: ProviderKeys
    let validator: IDTokenValidator

    /// - Parameter other: Its archive and wall clock are shared.
    init(
        _ fetcher: ScriptedFetcher, settings: ProviderKeys.Settings = .init(),
        algorithms: Set<SignatureAlgorithm> = [.es256, .rs256, .edDSA], sharing other: TestProvider? = nil
    ) {
        self.fetcher = fetcher
        let wallClock = other?.wallClock ?? FixedClock(seconds: Self.start.seconds)
        self.wallClock = wallClock
        archive = other?.archive ?? MemoryKeyArchive(clock: wallClock)
        keys = ProviderKeys(
            issuer: Self.issuer, fetcher: fetcher, archive: archive, settings: settings, wallClock: wallClock,
            clock: clock, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        validator = IDTokenValidator([.init(keys: keys, algorithms: algorithms)], subjects: Self.subjects)
    }

    /// A provider whose set has this key, which has verified a token.
    static func knowing(_ key: TestKey) async throws -> TestProvider {
        let provider = TestProvider(try ScriptedFetcher([key]))
        #expect(await provider.outcome(try provider.idToken(key)) == .verified)
        return provider
    }

    /// Another replica, or this one after a restart: same archive, same wall clock.
    func replica(_ fetcher: ScriptedFetcher) -> TestProvider { TestProvider(fetcher, sharing: self) }

    /// Moves both clocks.
    func advance(by span: Seconds) {
        wallClock.advance(by: span)
        clock.advance(by: .seconds(span.count))
    }

    /// A valid id_token of this moment, or one with other claims.
    func idToken(_ key: TestKey, issuedAt: UnixTime? = nil, _ changes: [(String, JSONValue?)] = []) throws
        -> SubjectToken
    {
        let issuedAt = issuedAt ?? wallClock.now
        var claims = JSONObject()
        claims["iss"] = .string(Self.issuer.string)
        claims["sub"] = .string("248289761001")
        claims["aud"] = .string("app-one")
        claims["iat"] = .number(JSONNumber(issuedAt.seconds))
        claims["exp"] = .number(JSONNumber(issuedAt.adding(3600).seconds))
        claims["sid"] = .string("08a5019c")
        claims["di_hash"] = .string("b2011aotZ8lT3eslukasAg")
        for (name, value) in changes { claims[name] = value }
        return SubjectToken(try key.sign(claims: claims))
    }

    func verify(_ token: SubjectToken) async throws(IDTokenVerificationError) -> IDTokenClaims {
        try await validator.verify(token, from: Self.issuer, for: .exchange, at: wallClock.now).claims
    }

    enum Outcome: Equatable {
        case verified
        case refused(SubjectTokenDefect)
        case outage(Outage.Component)
        case undecided(Outage.Component, retryAfter: Seconds)
    }

    func outcome(_ token: SubjectToken) async -> Outcome { await outcome(token, at: wallClock.now) }

    func outcome(_ token: SubjectToken, at now: UnixTime) async -> Outcome {
        await Self.outcome { () throws(IDTokenVerificationError) in
            try await validator.verify(token, from: Self.issuer, for: .exchange, at: now).claims
        }
    }

    static func outcome<Value>(
        of verify: () async throws(IDTokenVerificationError) -> Value
    ) async -> Outcome {
        do throws(IDTokenVerificationError) {
            _ = try await verify()
            return .verified
        } catch {
            switch error {
            case .refused(let defect): return .refused(defect)
            case .outage(let outage):
                return outage.isUndecided
                    ? .undecided(outage.component, retryAfter: outage.retryAfter) : .outage(outage.component)
            }
        }
    }
}
