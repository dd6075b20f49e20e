import BrokerTesting
import JOSE
import OAuthWire
import Synchronization
import TokenVerifier

/// The table "JWKS cache policy" of document 001: an API's verifier, with a clock that is moved and loads that are counted. Keys
/// and tokens are the IdP's.
struct KeyPolicyProbe: Sendable {
    private let loads: CountedLoads
    private let clock = ManualClock()
    private let verifier: TokenVerifier

    /// - Parameter issuedAt: When the token was issued: it does not expire while the clock is moved.
    init(issuer: String, issuedAt: Int64) throws {
        guard let loader = HTTPKeySetLoader(issuer + "/.well-known/jwks.json"),
            let broken = HTTPKeySetLoader(issuer + "/no-such-page")
        else { throw StepFailure("\(issuer) has no usable key set") }
        loads = CountedLoads(loader, broken)
        verifier = TokenVerifier(
            issuer: issuer, algorithms: [.rs256, .es256], loader: loads, clock: clock,
            now: { issuedAt },
            onLoadFailure: { [loads] _ in loads.noteFailure() })
    }

    func run(_ token: Credential, _ step: (String) -> Void) async throws {
        step("startup: fetch and cache")
        await verifier.prepare()
        try expect(loads.count == 1, "one fetch")
        step("kid is in the cache: no request")
        for _ in 1...3 { try await verify(token) }
        try expect(loads.count == 1, "no further fetch")
        step("kid is not in the cache: fetch again, at most every 30 s")
        clock.advance(by: .seconds(31))
        for _ in 1...2 { try await expectRefusal(of: ScenarioRun.withUnknownKey(token)) }
        try expect(loads.count == 2, "one fetch for two unknown keys, not \(loads.count - 1)")
        step("the cache is older than an hour: the old keys serve, and a fetch goes on beside it")
        clock.advance(by: .seconds(3601))
        try await verify(token)
        await loads.reached(3)
        // Waits until the new keys are in place.
        try await expectRefusal(of: ScenarioRun.withUnknownKey(token))
        step("the fetch fails: the old keys serve, a warning is logged, the next attempts wait longer and longer")
        loads.isDown = true
        clock.advance(by: .seconds(3601))
        for (pause, fetches, failures) in [(0, 4, 1), (10, 4, 1), (21, 5, 2), (40, 5, 2), (21, 6, 3)] {
            clock.advance(by: .seconds(pause))
            try await verify(token)
            await loads.reached(fetches)
            await loads.failed(failures)
            try expect(loads.count == fetches, "\(fetches) fetches, not \(loads.count)")
        }
        step("the issuer is back: the next fetch succeeds")
        loads.isDown = false
        clock.advance(by: .seconds(241))
        try await verify(token)
        await loads.reached(7)
        try await verify(token)
    }

    private func verify(_ token: Credential) async throws {
        _ = try await verifier.verify(token.secret, audience: SampleAPI.a.audience)
    }

    private func expectRefusal(of token: Credential) async throws {
        do throws(VerificationError) {
            _ = try await verifier.verify(token.secret, audience: SampleAPI.a.audience)
        } catch {
            return try expect(error.code == .unknownKey, "the key is unknown, not \(error)")
        }
        throw StepFailure("an unknown key is refused")
    }
}

/// Fetches keys, counts how often, and can fail.
private final class CountedLoads: KeySetLoader {
    private struct State {
        var count = 0
        var failures = 0
        var isDown = false
        var waiting: [(done: @Sendable (State) -> Bool, CheckedContinuation<Void, Never>)] = []
    }

    private let loader: HTTPKeySetLoader
    /// Finds nothing.
    private let broken: HTTPKeySetLoader
    private let state = Mutex(State())

    init(_ loader: HTTPKeySetLoader, _ broken: HTTPKeySetLoader) {
        self.loader = loader
        self.broken = broken
    }

    var count: Int { state.withLock { $0.count } }

    var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    func load() async throws -> KeySetDocument {
        let isDown = state.withLock { $0.isDown }
        defer { change { $0.count += 1 } }
        if isDown { return try await broken.load() }
        // Without the issuer's own, shorter, time: the table's hour counts.
        return KeySetDocument(octets: try await loader.load().octets)
    }

    func noteFailure() { change { $0.failures += 1 } }

    func reached(_ count: Int) async { await wait { $0.count >= count } }
    func failed(_ count: Int) async { await wait { $0.failures >= count } }

    private func wait(until done: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if done(state) { return true }
                state.waiting.append((done, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    private func change(_ body: (inout sending State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let now = state
            state.waiting.removeAll { $0.done(now) }
            return now.waiting.filter { $0.done(now) }.map(\.1)
        }
        for continuation in ready { continuation.resume() }
    }
}
