import OAuthWire
import Synchronization
import Testing

@testable import NativeSSOClient

@Suite struct AppTokensTests {
    @Test func theFirstTokenComesByExchangeAndTheNextByRefresh() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .tokens("at2", refresh: "rt2")])
        #expect(try await app.tokens.accessToken().secret == "at1")
        #expect(try await app.tokens.accessToken().secret == "at1")
        #expect(await app.own.item(AppTokens.item) == Array("rt1".utf8))
        app.clock.advance(by: 270)
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(await app.own.item(AppTokens.item) == Array("rt2".utf8))
        #expect(try await app.transport.form(1)["refresh_token"] == "rt1")
        #expect(await app.transport.requests.count == 2)
    }

    @Test func aRestartedAppRefreshes() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")])
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.transport.form()["grant_type"] == "refresh_token")
    }

    @Test func aDeadRefreshTokenLeadsToAnExchange() async throws {
        let app = try await App([.refusal("invalid_grant"), .tokens("at2", refresh: "rt2")])
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(await app.own.item(AppTokens.item) == Array("rt2".utf8))
    }

    @Test func aDeadLoginLeadsToTheBrowserAndStaysForTheOthers() async throws {
        let app = try await App([.refusal("invalid_grant"), .refusal("invalid_grant")])
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .exchange) == .logIn)
        #expect(await app.own.item(AppTokens.item) == nil)
        #expect(await app.shared.item(SharedLogin.item) != nil)
    }

    @Test func anOutageCostsNothing() async throws {
        let app = try await App([
            .answer(503, #"{"error":"invalid_grant"}"#), .failure(.init()), .tokens("at2", refresh: "rt2"),
        ])
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        for _ in 1...2 {
            let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
            #expect(error?.remedy(after: .refresh) == .retry(after: nil))
            #expect(await app.own.item(AppTokens.item) == Array("rt1".utf8))
        }
        #expect(try await app.tokens.accessToken().secret == "at2")
    }

    @Test func aRateLimitCostsNothing() async throws {
        let app = try await App([
            .answer(429, #"{"error":"temporarily_unavailable"}"#, retryAfter: "30"), .tokens("at2", refresh: "rt2"),
        ])
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .refresh) == .retry(after: .seconds(30)))
        #expect(await app.own.item(AppTokens.item) == Array("rt1".utf8))
        #expect(await app.shared.item(SharedLogin.item) != nil)
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.transport.form(1)["refresh_token"] == "rt1")
    }

    @Test func whoAsksMeanwhileSharesTheOutcome() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")], held: true)
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        let callers = (0..<50).map { _ in Task { try await app.tokens.accessToken().secret } }
        await app.transport.release(whenWaiting: 1)
        for caller in callers { #expect(try await caller.value == "at2") }
        #expect(await app.transport.requests.count == 1)
    }

    @Test func aCancelledCallerDoesNotCancelTheRefresh() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")], held: true)
        await app.own.setItem(AppTokens.item, Array("rt1".utf8))
        let caller = Task { try await app.tokens.accessToken() }
        caller.cancel()
        await app.transport.release(whenWaiting: 1)
        _ = await caller.result
        #expect(await app.own.item(AppTokens.item) == Array("rt2".utf8))
    }

    @Test func aRejectedTokenIsReplacedOnce() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .tokens("at2", refresh: "rt2")])
        let rejected = try await app.tokens.accessToken()
        for _ in 1...3 { #expect(try await app.tokens.accessToken(insteadOf: rejected).secret == "at2") }
        #expect(await app.transport.requests.count == 2)
    }

    @Test func withoutALoginThereIsNoToken() async throws {
        let app = try await App([])
        await app.shared.removeItem(SharedLogin.item)
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .exchange) == .logIn)
        #expect(await app.transport.requests.isEmpty)
    }

    @Test func aKeychainThatFailsIsNoRefusal() async throws {
        let transport = ScriptedTransport([])
        let tokens = AppTokens(
            endpoint: TokenEndpoint(address: "https://b/token", clientID: "a", transport: transport),
            issuer: "https://i", shared: InMemoryKeychain(), own: LockedKeychain(), now: { 0 })
        let error = await #expect(throws: ClientError.self) { try await tokens.accessToken() }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
        #expect(await transport.requests.isEmpty)
    }
}

/// An app on a device with a login.
private struct App {
    let transport: ScriptedTransport
    let shared = InMemoryKeychain()
    let own = InMemoryKeychain()
    let clock = Clock()
    let tokens: AppTokens

    init(_ answers: [Result<TransportResponse, ScriptedTransport.NoAnswer>], held: Bool = false) async throws {
        transport = ScriptedTransport(answers, held: held)
        try await SharedLogin(idToken: Credential("a.b.c"), device: .secret(Credential("s"))).save(to: shared)
        tokens = AppTokens(
            endpoint: TokenEndpoint(
                address: "https://sso.example.test/token", clientID: "app-two", transport: transport),
            issuer: "https://idp.example.test", shared: shared, own: own, now: { [clock] in clock.now })
    }
}

private final class Clock: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)
    var now: Int64 { seconds.withLock { $0 } }
    func advance(by count: Int64) { seconds.withLock { $0 += count } }
}

private struct LockedKeychain: Keychain {
    struct Locked: Error {}
    func item(_ name: String) throws -> [UInt8]? { throw Locked() }
    func setItem(_ name: String, _ value: [UInt8]) throws { throw Locked() }
    func removeItem(_ name: String) throws { throw Locked() }
}
