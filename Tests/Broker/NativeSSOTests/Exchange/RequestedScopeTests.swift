import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

@Suite struct RequestedScopeTests {
    @Test(
        arguments: [
            (["openid"], ["openid"], nil),
            (nil, ["openid", "profile", "orders.read"], nil),
            ([], ["openid", "profile", "orders.read"], .scopeLacksOpenID),
            (["openid", "device_sso"], ["openid"], nil),
            (["openid", "device_sso", "profile"], ["openid", "profile"], nil),
            // As if the request had no scope.
            (["device_sso"], ["openid", "profile", "orders.read"], nil),
            (["profile", "device_sso"], ["profile"], .scopeLacksOpenID),
            (["openid", "offline_access", "device_sso"], ["openid"], nil),
            (["offline_access"], ["openid", "profile", "orders.read"], nil),
            (["openid", "admin"], ["openid", "admin"], .scopeExceedsClient),
            (["OpenID"], ["OpenID"], .scopeLacksOpenID),
        ] as [([String]?, [String], ExchangeRefusal?)])
    func ofDraft07(named: [String]?, wanted: [String], refusal: ExchangeRefusal?) throws {
        let demand = try demand(named, .deviceSecret)
        #expect(demand.scope.tokens == wanted)
        #expect(demand.refusal == refusal)
    }

    @Test(arguments: [Profile.deviceID, .deviceSecretTransitional])
    func ofOlderTexts(profile: Profile) throws {
        #expect(try demand(["profile"], profile).refusal == nil)
        #expect(try demand(["device_sso"], profile).scope == ExchangeScenario.scope)
        #expect(try demand(["device_sso"], profile).refusal == nil)
        #expect(try demand(["admin"], profile).refusal == .scopeExceedsClient)
    }

    /// If an operator copies the scope of app 1's login, still no client gets the scopes of a login.
    @Test(arguments: ["device_sso", "offline_access"]) func scopesOfALoginAreNeverGranted(_ name: String) throws {
        var scenario = try ExchangeScenario()
        let allowed = Scope(["openid", name])
        scenario.client = Client(id: scenario.target, allowedScope: allowed, defaultScope: allowed, audiences: [])
        for scope in [nil, allowed, Scope([name])] {
            scenario.scope = scope
            #expect(scenario.request.demand.scope == Scope(["openid"]))
        }
        scenario.client = Client(
            id: scenario.target, allowedScope: allowed, defaultScope: Scope([name]), audiences: [])
        scenario.scope = nil
        #expect(scenario.request.demand.refusal == .scopeEmpty)
    }

    @Test func aDefaultBeyondTheClientIsRefused() throws {
        var scenario = try ExchangeScenario()
        scenario.client = Client(
            id: scenario.target, allowedScope: Scope(["openid"]), defaultScope: Scope(["openid", "admin"]),
            audiences: [])
        #expect(scenario.request.demand.refusal == .scopeExceedsClient)
    }

    private func demand(_ named: [String]?, _ profile: Profile) throws -> (scope: Scope, refusal: ExchangeRefusal?) {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.scope = named.map { Scope($0) }
        return scenario.request.demand
    }
}
