@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@Suite("Which bucket each request is charged to", .timeLimit(.minutes(1)))
struct RequestLimiterTests {
    private let clock = ManualClock()
    private static let one = RateLimit(1, per: .seconds(10))

    private func address(_ text: String) throws -> ClientAddress { ClientAddress(try #require(NetworkAddress(text))) }

    private func limit(_ charge: () throws -> Void) -> RateLimited? {
        do {
            try charge()
            return nil
        } catch {
            return error as? RateLimited
        }
    }

    @Test("An address is a full IPv4 address or an IPv6 /64, in any spelling")
    func addresses() throws {
        let limiter = RequestLimiter(with { $0.address = Self.one }, clock: clock)
        for (address, isLimited) in [
            ("192.0.2.1", false), ("192.0.2.2", false), ("192.0.2.1", true), ("::ffff:192.0.2.1", true),
            ("2001:db8::1", false), ("2001:DB8:0:0:ffff::2", true), ("2001:db8:0:1::1", false),
        ] {
            let address = try self.address(address)
            #expect((limit { try limiter.charge(requestFrom: address) } != nil) == isLimited)
        }
        // No address, or the shared one of a proxy that names no client.
        for address in [nil, try address("127.0.0.1"), try address("::1")] {
            for _ in 0..<3 { try limiter.charge(requestFrom: address) }
        }
    }

    @Test("Handshakes are counted by address, apart from requests")
    func handshakes() throws {
        let limiter = RequestLimiter(with { ($0.handshakes, $0.address) = (Self.one, Self.one) }, clock: clock)
        let (here, there) = (try address("192.0.2.1"), try address("2001:db8::1"))
        try limiter.charge(requestFrom: here)
        #expect(limiter.admits(handshakeFrom: here) && limiter.admits(handshakeFrom: there))
        #expect(!limiter.admits(handshakeFrom: here))
        #expect(try !limiter.admits(handshakeFrom: address("2001:db8::2")))
        // A proxy on this host forwards the connections of many clients.
        for _ in 0..<3 { #expect(try limiter.admits(handshakeFrom: address("127.0.0.1"))) }
        clock.advance(by: .seconds(10))
        #expect(limiter.admits(handshakeFrom: here))
    }

    @Test("A request over its address limit does not count for the listener")
    func everybody() throws {
        let limiter = RequestLimiter(
            with { ($0.listener, $0.address) = (RateLimit(2, per: .seconds(20)), Self.one) }, clock: clock)
        let (here, there) = (try address("192.0.2.1"), try address("198.51.100.1"))
        try limiter.charge(requestFrom: here)
        for _ in 0..<3 {
            #expect(limit { try limiter.charge(requestFrom: here) }?.limit == .address)
        }
        try limiter.charge(requestFrom: there)
        for caller in [nil, try address("192.0.2.2")] {
            #expect(limit { try limiter.charge(requestFrom: caller) } == RateLimited(.listener, retryAfter: 10))
        }
    }

    @Test("A network is an IPv6 /48; IPv4 has none")
    func networks() throws {
        let limiter = RequestLimiter(with { $0.network = Self.one }, clock: clock)
        try limiter.charge(requestFrom: try address("2001:db8:7:1::1"))
        let same = try address("2001:db8:7:ffff::1")
        #expect(limit { try limiter.charge(requestFrom: same) }?.limit == .network)
        try limiter.charge(requestFrom: try address("2001:db8:8::1"))
        for _ in 0..<3 { try limiter.charge(requestFrom: try address("192.0.2.1")) }
    }

    @Test("Unreadable addresses share one limit; a missing address has none")
    func unreadable() throws {
        let limiter = RequestLimiter(
            with { ($0.address, $0.network, $0.clientFailures) = (Self.one, Self.one, Self.one) }, clock: clock)
        try limiter.charge(requestFrom: .unreadable)
        #expect(limit { try limiter.charge(requestFrom: .unreadable) }?.limit == .address)
        try limiter.charge(requestFrom: try address("192.0.2.1"))
        try limiter.charge(requestFrom: nil)
        try limiter.charge(failureOf: "server", from: nil)
        try limiter.charge(failureOf: "server", from: .unreadable)
        #expect(limit { try limiter.charge(failureOf: "server", from: .unreadable) } != nil)
    }

    @Test("Failures count by client name and address")
    func failures() throws {
        let limiter = RequestLimiter(with { $0.clientFailures = Self.one }, clock: clock)
        let (here, there) = (try address("192.0.2.1"), try address("198.51.100.1"))
        // Canonically equivalent texts are two names.
        for (name, address) in [
            ("server", there), ("server", here), ("other", there), ("\u{E9}", there), ("e\u{301}", there),
        ] {
            try limiter.charge(failureOf: name, from: address)
            #expect(
                limit { try limiter.charge(failureOf: name, from: address) }
                    == RateLimited(.clientFailures, retryAfter: 10))
        }
        clock.advance(by: .milliseconds(9_001))
        #expect(limit { try limiter.charge(failureOf: "server", from: there) }?.retryAfter == 1)
        clock.advance(by: .milliseconds(999))
        try limiter.charge(failureOf: "server", from: there)
    }

    /// Behind a proxy that names no client, one wrong secret would otherwise lock out all clients.
    @Test(
        "Failures from a shared or missing address are not counted", arguments: [nil, "127.0.0.1", "::1"])
    func failuresOfEverybody(_ address: String?) throws {
        let limiter = RequestLimiter(with { $0.clientFailures = Self.one }, clock: clock)
        let caller = try address.map { try self.address($0) }
        for _ in 0..<3 { try limiter.charge(failureOf: "server", from: caller) }
    }

    @Test("Login, user and device have limits per issuer; failures count apart")
    func logins() throws {
        let client = Domain.client("app-two")
        func exchange(_ limiter: RequestLimiter, _ idToken: IDTokenClaims, device: String = "d") -> RateLimited.Limit? {
            limit { try limiter.charge(exchangeOf: idToken, onDevice: device, by: client) }?.limit
        }
        let sessions = RequestLimiter(with { $0.session = Self.one }, clock: clock)
        #expect(exchange(sessions, token()) == nil)
        #expect(exchange(sessions, token()) == .session)
        #expect(exchange(sessions, token(sid: "S2")) == nil)
        #expect(exchange(sessions, token(issuer: "https://other.example")) == nil)

        let users = RequestLimiter(with { $0.user = Self.one }, clock: clock)
        #expect(exchange(users, token()) == nil)
        #expect(exchange(users, token(sid: "S2"), device: "e") == .user)
        #expect(exchange(users, token(subject: "other")) == nil)

        let devices = RequestLimiter(with { $0.device = Self.one }, clock: clock)
        #expect(exchange(devices, token()) == nil)
        #expect(exchange(devices, token(sid: "S2", subject: "other")) == .device)
        #expect(exchange(devices, token(), device: "e") == nil)

        let guesses = RequestLimiter(with { ($0.deviceFailures, $0.session) = (Self.one, Self.one) }, clock: clock)
        try guesses.charge(failureOf: token())
        #expect(limit { try guesses.charge(failureOf: token()) }?.limit == .deviceFailures)
        #expect(exchange(guesses, token()) == nil)
    }

    /// A thief's enrolments with a stolen id_token use up only that token's limit.
    @Test("A recorded enrolment counts for user and app; a refused one for its id_token")
    func enrolments() throws {
        let (client, server) = (
            Domain.client("app-one"), Domain.client("server", authentication: .clientSecretBasic)
        )
        func check(_ limiter: RequestLimiter, _ token: String, by client: Client = client) -> RateLimited.Limit? {
            let digest = EnrolledTokenDigest(of: SubjectToken(token))
            return limit { try limiter.check(enrolmentOf: fresh, token: digest, by: client) }?.limit
        }
        let users = RequestLimiter(with { ($0.user, $0.deviceFailures) = (Self.one, Self.one) }, clock: clock)
        for _ in 0..<3 { #expect(check(users, "a.a.a") == nil) }
        try users.charge(failureOf: EnrolledTokenDigest(of: SubjectToken("a.a.a")))
        // Another signature over the same claims is the same token.
        #expect(check(users, "a.a.b") == .deviceFailures)
        #expect(check(users, "b.b.b") == nil)
        users.count(enrolmentOf: fresh, by: client)
        #expect(check(users, "b.b.b") == .user)

        let apps = RequestLimiter(with { $0.client = Self.one }, clock: clock)
        apps.count(enrolmentOf: fresh, by: server)
        #expect(check(apps, "a.a.a", by: server) == nil)
        apps.count(enrolmentOf: fresh, by: client)
        #expect(check(apps, "a.a.a") == .client)
    }

    private var fresh: IDTokenClaims { token(sid: nil) }

    @Test("Apps are charged per exchange or refresh, other clients per authentication")
    func clients() throws {
        let limiter = RequestLimiter(with { $0.client = RateLimit(2, per: .seconds(10)) }, clock: clock)
        let (app, server) = (Domain.client("app-two"), Domain.client("server", authentication: .clientSecretBasic))
        try limiter.charge(exchangeOf: token(), onDevice: "d", by: app)
        try limiter.charge(refreshOf: .random(), by: app)
        #expect(limit { try limiter.charge(refreshOf: .random(), by: app) }?.limit == .client)
        for _ in 0..<2 {
            try limiter.charge(authenticated: server.id)
            try limiter.charge(refreshOf: .random(), by: server)
        }
        #expect(limit { try limiter.charge(authenticated: server.id) }?.limit == .client)
    }

    @Test("Each grant has its own limit")
    func grants() throws {
        let limiter = RequestLimiter(with { $0.session = Self.one }, clock: clock)
        let (grant, client) = (UniqueID.random(), Domain.client("app-two"))
        try limiter.charge(refreshOf: grant, by: client)
        #expect(limit { try limiter.charge(refreshOf: grant, by: client) }?.limit == .session)
        try limiter.charge(refreshOf: .random(), by: client)
    }

    private func with(_ change: (inout RequestLimits) -> Void) -> RequestLimits {
        var limits = RequestLimits.none
        change(&limits)
        return limits
    }

    private func token(
        issuer: String = "https://idp.example.com", sid: String? = "S1", subject: String = "user"
    ) -> IDTokenClaims {
        IDTokenClaims(
            issuer: Issuer(validated: issuer), subject: Subject(validated: subject),
            sessionID: sid.map(SessionID.init(validated:)), sourceClient: ClientID(validated: "app-one"),
            audience: [ClientID(validated: "app-one")], issuedAt: UnixTime(seconds: 1),
            expiresAt: UnixTime(seconds: 2), login: Login(), hashFunction: .sha256)
    }
}
