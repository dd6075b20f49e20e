import BrokerTesting
@testable import NativeSSO
import Testing

/// Limits on codes in flight at one IdP: in total, for each app and for each address.
@Suite struct RelaySlotsTests {
    /// Received tokens are in memory only. They keep their place until the database stores them or the caller is told
    /// to retry.
    @Test func whatIsBeingKept() async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(timeout: 5, atOnce: 1)
        fixture.pauses.caller = Array(repeating: .milliseconds(1), count: 10_000)
        fixture.register.fail(.settle, with: .outage(Outage(.database, "told to")))
        let (broker, request) = (fixture.broker(), fixture.request)
        async let first = broker.run(request)
        while fixture.register.settlements.isEmpty { await Task.yield() }
        #expect(broker.codesInFlight == 1)
        fixture.register.fail(.settle, with: nil)
        _ = try await first
        #expect(broker.codesInFlight == 0)
    }

    /// One app may hold four of eight places, and one address two. A flood at an IdP that hangs leaves room for others.
    @Test func aFlood() throws {
        var fixture = try CodeFixture()
        let slots = RelaySlots()
        var inside: [CodeRequest] = []
        func enter(_ app: String = "app-one", origin: UInt64?) -> RelayRefusal? {
            fixture.login.client = Client(
                id: ClientID(validated: app), allowedScope: Scope(["openid"]), defaultScope: Scope(["openid"]),
                audiences: ["https://api.example.com"])
            fixture.origin = origin
            let refusal = slots.enter(fixture.request, atMost: 8)
            if refusal == nil { inside.append(fixture.request) }
            return refusal
        }
        #expect(enter(origin: 1) == nil)
        #expect(enter(origin: 1) == nil)
        #expect(enter(origin: 1) == .relayShareUsed)
        #expect(enter("app-two", origin: 1) == .relayShareUsed)
        #expect(enter(origin: 2) == nil)
        #expect(enter(origin: nil) == nil)
        #expect(enter(origin: 3) == .relayShareUsed)
        for origin in [3, 3, 4, 5] as [UInt64] { #expect(enter("app-two", origin: origin) == nil) }
        #expect(enter("app-three", origin: 6) == .relayBusy)
        #expect(slots.count(at: EnrolmentFixture.issuer) == 8)
        for request in inside { slots.leave(request) }
        #expect(slots.count(at: EnrolmentFixture.issuer) == 0)
    }
}

extension CodeEnrolment {
    fileprivate var codesInFlight: Int { slots.count(at: EnrolmentFixture.issuer) }
}
