import OAuthWire
import StrictCoding
import Synchronization
import Testing

@testable import NativeSSOClient

@Suite struct AppTokensTests {
    @Test func theFirstTokenComesByExchangeAndTheNextByRefresh() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .tokens("at2", refresh: "rt2")])
        #expect(try await app.tokens.accessToken().secret == "at1")
        #expect(try await app.tokens.accessToken().secret == "at1")
        #expect(try await app.storedToken() == "rt1")
        app.clock.advance(by: 270)
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.storedToken() == "rt2")
        #expect(try await app.transport.form(1)["refresh_token"] == "rt1")
        #expect(await app.transport.requests.count == 2)
    }

    @Test func aDeadRefreshTokenLeadsToAnExchange() async throws {
        let app = try await App([.refusal("invalid_grant"), .tokens("at2", refresh: "rt2")])
        try await app.store("rt1")
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.storedToken() == "rt2")
    }

    @Test func aDeadLoginLeadsToTheBrowserAndStaysForTheOthers() async throws {
        let app = try await App([.refusal("invalid_grant"), .refusal("invalid_grant")])
        try await app.store("rt1")
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .exchange) == .logIn)
        #expect(await app.own.item(AppTokens.item) == nil)
        #expect(await app.shared.item(SharedLogin.item) != nil)
    }

    @Test func anOutageAndARateLimitCostNothing() async throws {
        let app = try await App([
            .answer(503, #"{"error":"invalid_grant"}"#), .failure(.init()),
            .answer(429, #"{"error":"temporarily_unavailable"}"#, retryAfter: "30"), .tokens("at2", refresh: "rt2"),
        ])
        try await app.store("rt1")
        for pause in [nil, nil, Duration.seconds(30)] {
            let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
            #expect(error?.remedy(after: .refresh) == .retry(after: pause))
            #expect(try await app.storedToken() == "rt1")
            #expect(await app.shared.item(SharedLogin.item) != nil)
        }
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.transport.form(3)["refresh_token"] == "rt1")
    }

    @Test func whoAsksMeanwhileSharesTheOutcome() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")], held: true)
        try await app.store("rt1")
        let callers = (0..<50).map { _ in Task { try await app.tokens.accessToken().secret } }
        await app.transport.release(whenWaiting: 1)
        for caller in callers { #expect(try await caller.value == "at2") }
        #expect(await app.transport.requests.count == 1)
    }

    @Test func aCancelledCallerDoesNotCancelTheRefresh() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")], held: true)
        try await app.store("rt1")
        let caller = Task { try await app.tokens.accessToken() }
        caller.cancel()
        await app.transport.release(whenWaiting: 1)
        _ = await caller.result
        #expect(try await app.storedToken() == "rt2")
    }

    @Test func aRejectedTokenIsReplacedOnce() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .tokens("at2", refresh: "rt2")])
        let rejected = try await app.tokens.accessToken()
        for _ in 1...3 { #expect(try await app.tokens.accessToken(insteadOf: rejected).secret == "at2") }
        #expect(await app.transport.requests.count == 2)
    }

    @Test func aKeychainThatFailsIsNoRefusal() async throws {
        let transport = ScriptedTransport([])
        let tokens = AppTokens(
            endpoint: TokenEndpoint(address: "https://b/token", clientID: "a", transport: transport),
            issuer: "https://i", shared: LockedKeychain(), own: InMemoryKeychain(), now: { 0 })
        let error = await #expect(throws: ClientError.self) { try await tokens.accessToken() }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
        #expect(await transport.requests.isEmpty)
    }

    @Test func anotherUsersLoginDropsTheTokens() async throws {
        let app = try await App([
            .tokens("at1", refresh: "rt1"), .tokens("of bob", refresh: "rt of bob"), .tokens("at3", refresh: "rt3"),
        ])
        #expect(try await app.tokens.accessToken().secret == "at1")
        try await app.logIn("bob")
        #expect(try await app.tokens.accessToken().secret == "of bob")
        #expect(try await app.transport.form(1)["grant_type"] == GrantType.tokenExchange.rawValue)
        #expect(try await app.storedToken() == "rt of bob")
        // Also after a restart, with bob's refresh token in the app's keychain.
        try await app.logIn("alice")
        #expect(try await app.restarted().accessToken().secret == "at3")
        #expect(try await app.transport.form(2)["grant_type"] == GrantType.tokenExchange.rawValue)
    }

    @Test func anotherUsersLoginThatCannotBeExchangedLeavesNoToken() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .refusal("invalid_grant")])
        #expect(try await app.tokens.accessToken().secret == "at1")
        try await app.logIn("bob")
        await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(try await app.transport.form(1)["grant_type"] == GrantType.tokenExchange.rawValue)
        #expect(await app.own.item(AppTokens.item) == nil)
    }

    @Test func anotherLoginOfTheSameUserKeepsTheTokens() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")])
        try await app.store("rt1")
        try await app.logIn("alice")
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.transport.form()["refresh_token"] == "rt1")
    }

    /// Another app has signed the device out.
    @Test func aRemovedLoginDropsTheTokens() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1")])
        #expect(try await app.tokens.accessToken().secret == "at1")
        try await app.shared.removeItem(SharedLogin.item)
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .exchange) == .logIn)
        #expect(await app.own.item(AppTokens.item) == nil)
        #expect(await app.transport.requests.count == 1)
    }

    @Test func afterSigningOutOnlyAnExchangeByWishGivesAToken() async throws {
        let app = try await App([.tokens("at1", refresh: "rt1"), .tokens("at2", refresh: "rt2")])
        #expect(try await app.tokens.accessToken().secret == "at1")
        try await app.tokens.signOut()
        for tokens in [app.tokens, app.restarted()] {
            let error = await #expect(throws: ClientError.self) { try await tokens.accessToken() }
            #expect(error?.remedy(after: .exchange) == .logIn)
        }
        #expect(try await app.tokens.exchange().secret == "at2")
        #expect(try await app.tokens.accessToken().secret == "at2")
    }

    /// Damaged, half written, of a newer version, or what this library wrote before items had versions.
    @Test(arguments: [
        "", "rt1", #"{"version":1,"refresh_tok"#, #"{"version":1,"refresh_token":"rt1"}"#, #"{"refresh_token":"rt1"}"#,
        #"{"version":2,"refresh_token":"rt1"}"#,
        #"{"version":1,"refresh_token":"rt1","iss":"i","sub":"s","login":"!"}"#,
        #"{"version":-1}"#, #"{"version":"1"}"#, "[]",
    ])
    func anUnusableItemOfTheAppCostsAnExchange(_ text: String) async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")])
        try await app.own.setItem(AppTokens.item, Array(text.utf8))
        #expect(try await app.tokens.accessToken().secret == "at2")
        #expect(try await app.transport.form()["grant_type"] == GrantType.tokenExchange.rawValue)
        #expect(try await app.storedToken() == "rt2")
    }

    /// Each defect: `SharedLoginTests`.
    @Test(arguments: [("", Remedy.logIn), (#"{"version":2,"anything":1}"#, Remedy.none)])
    func anUnusableLoginIsKept(_ text: String, _ remedy: Remedy) async throws {
        let app = try await App([])
        try await app.shared.setItem(SharedLogin.item, Array(text.utf8))
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        guard case .keychainItem? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(error?.remedy(after: .exchange) == remedy)
        #expect(await app.shared.item(SharedLogin.item) == Array(text.utf8))
    }

    /// Two processes of one app refresh at once: the broker gives both the same successor, and one of them has refreshed
    /// again when the other writes.
    @Test func aSlowProcessDoesNotOverwriteANewerToken() async throws {
        let app = try await App([.tokens("at2", refresh: "rt2")], held: true)
        try await app.store("rt1")
        let slow = Task { try await app.tokens.accessToken().secret }
        await app.transport.waitForRequests(1)
        try await app.store("rt3")
        await app.transport.release(whenWaiting: 1)
        #expect(try await slow.value == "at2")
        #expect(try await app.storedToken() == "rt3")
    }

    @Test func aProcessWhoseTokenWasReplacedMeanwhileTakesTheNewOne() async throws {
        let app = try await App([.refusal("invalid_grant"), .tokens("at4", refresh: "rt4")], held: true)
        try await app.store("rt1")
        let slow = Task { try await app.tokens.accessToken().secret }
        await app.transport.waitForRequests(1)
        try await app.store("rt3")
        await app.transport.release(whenWaiting: 1)
        #expect(try await slow.value == "at4")
        #expect(try await app.transport.form(1)["refresh_token"] == "rt3")
        #expect(try await app.storedToken() == "rt4")
    }

    /// Its type says how to use a token: one that the app does not know is of no use.
    @Test(arguments: ["mac", "N_A", "DPoP"])
    func aTokenOfAnotherTypeIsNotUsed(_ type: String) async throws {
        let body = "{\"access_token\":\"at\",\"token_type\":\"\(type)\",\"expires_in\":300}"
        let app = try await App([.answer(200, body)])
        let error = await #expect(throws: ClientError.self) { try await app.tokens.accessToken() }
        #expect(error?.remedy(after: .exchange) == .retry(after: nil))
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
        tokens = Self.tokens(transport, shared, own, clock)
        try await logIn("alice")
    }

    private static func tokens(
        _ transport: ScriptedTransport, _ shared: InMemoryKeychain, _ own: InMemoryKeychain, _ clock: Clock
    ) -> AppTokens {
        AppTokens(
            endpoint: TokenEndpoint(
                address: "https://sso.example.test/token", clientID: "app-two", transport: transport),
            issuer: "https://idp.example.test", shared: shared, own: own, now: { clock.now })
    }

    /// The app after a new start.
    func restarted() -> AppTokens { Self.tokens(transport, shared, own, clock) }

    /// What another app of the vendor does. Each login is another one.
    func logIn(_ user: String) async throws {
        try await SharedLogin(
            idToken: .unsigned(user, "\(UInt32.random(in: 0...(.max)))"), device: .secret(Credential("s"))
        )
        .save(to: shared)
    }

    /// As if an earlier start of the app had stored it, for alice.
    func store(_ token: String) async throws {
        let login = Base64URL.encode(ItemRevision(of: []).octets)
        let item =
            #"{"version":1,"refresh_token":"\#(token)","iss":"https://idp.example.test","sub":"alice","login":"\#(login)"}"#
        try await own.setItem(AppTokens.item, Array(item.utf8))
    }

    func storedToken() async throws -> String? {
        guard let item = await own.item(AppTokens.item) else { return nil }
        return try JSONReader.parse(item).object?.string("refresh_token")
    }
}

extension Credential {
    /// An id_token without a real signature.
    static func unsigned(_ user: String, _ sid: String = "s") -> Credential {
        let claims = #"{"iss":"https://idp.example.test","sub":"\#(user)","sid":"\#(sid)"}"#
        return Credential("e30.\(Base64URL.encode(claims.utf8)).c2ln")
    }
}

final class Clock: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)
    var now: Int64 { seconds.withLock { $0 } }
    func advance(by count: Int64) { seconds.withLock { $0 += count } }
}

private struct LockedKeychain: Keychain {
    struct Locked: Error {}
    func item(_ name: String) throws -> [UInt8]? { throw Locked() }
    func replaceItem(_ name: String, _ current: ItemRevision?, with value: [UInt8]?) throws -> Bool { throw Locked() }
}
