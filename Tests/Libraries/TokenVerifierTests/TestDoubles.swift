import BrokerTesting
import JOSE
import StrictCoding
import Synchronization
import TokenVerifier

struct LoadFailed: Error {}

/// A JWKS endpoint that answers as it is told.
final class ScriptedLoader: KeySetLoader {
    private struct State {
        var document: KeySetDocument?
        var hangs = false
        var count = 0
    }

    private let state = Mutex(State())
    /// One element for each load that began.
    let began = AsyncStream<Void>.makeStream()

    var count: Int { state.withLock { $0.count } }

    func answer(_ keys: [TestKey], maximumAge: Duration? = nil) throws {
        let document = KeySetDocument(octets: try TestKey.document(keys), maximumAge: maximumAge)
        state.withLock { $0.document = document }
    }

    func answer(garbage text: String) { state.withLock { $0.document = KeySetDocument(octets: Array(text.utf8)) } }
    func fail() { state.withLock { $0.document = nil } }
    func hang() { state.withLock { $0.hangs = true } }

    func load() async throws -> KeySetDocument {
        let (document, hangs) = state.withLock { state in
            state.count += 1
            return (state.document, state.hangs)
        }
        began.continuation.yield()
        if hangs { for await _ in AsyncStream<Void>(unfolding: { try? await Task.sleep(for: .seconds(3600)) }) {} }
        guard let document else { throw LoadFailed() }
        return document
    }
}

/// A wall clock that a test moves.
final class ManualTime: Sendable {
    private let seconds = Atomic<Int64>(Resource.now)

    var now: Int64 { seconds.load(ordering: .relaxed) }
    func advance(by count: Int64) { seconds.add(count, ordering: .relaxed) }
}

/// A resource server's verifier, with everything around it under the test's control.
struct Resource {
    static let now: Int64 = 1_795_000_000

    let clock = ManualClock()
    /// Seconds since 1970.
    let time = ManualTime()
    let loader = ScriptedLoader()
    let failures = AsyncStream<Void>.makeStream()
    private let failureCount = FailureCount()
    let verifier: TokenVerifier
    private let issuer: String

    init(
        issuer: String = "https://sso.example.com", algorithms: Set<SignatureAlgorithm> = [.es256],
        policy: KeyCachePolicy = .init(),
        acceptsSenderConstrained: Bool = false, subjectPrefix: String = "", reservedPrefixes: Set<String> = [],
        cachedTokens: Int = 1000
    ) {
        self.issuer = issuer
        let failures = failures.continuation
        verifier = TokenVerifier(
            issuer: issuer, algorithms: algorithms, loader: loader, policy: policy,
            acceptsSenderConstrained: acceptsSenderConstrained, subjectPrefix: subjectPrefix,
            reservedPrefixes: reservedPrefixes, cachedTokens: cachedTokens, clock: clock, now: { [time] in time.now },
            onLoadFailure: { [failureCount] _ in
                failureCount.value.add(1, ordering: .relaxed)
                failures.yield()
            })
    }

    private final class FailureCount: Sendable { let value = Atomic<Int>(0) }

    func hasFailed() -> Bool { failureCount.value.load(ordering: .relaxed) > 0 }

    /// A flawless access token, or one with other claims.
    func token(_ key: TestKey, type: String? = "at+jwt", _ changes: [(String, JSONValue?)] = []) throws -> String {
        var claims = JSONObject()
        claims["iss"] = .string(issuer)
        claims["sub"] = .string("248289761001")
        claims["aud"] = .string("https://api.example.com")
        claims["client_id"] = .string("app-two")
        claims["iat"] = .number(JSONNumber(Self.now))
        claims["exp"] = .number(JSONNumber(Self.now + 300))
        claims["jti"] = .string("b1f5")
        claims["scope"] = .string("profile orders.read")
        for (name, value) in changes { claims[name] = value }
        return try key.sign(claims: claims, type: type)
    }

    /// nil if the token is accepted.
    func refusal(_ token: String, audience: String = "https://api.example.com") async -> VerificationError? {
        do throws(VerificationError) {
            _ = try await verifier.verify(token, audience: audience)
            return nil
        } catch {
            return error
        }
    }
}
