import NativeSSO
import Testing

extension GrantRegistryConformance {
    /// What ends, ends at its very second: the second before is still good.
    static let limitChecks = [
        limit("session expiry", .sessionExpired) { $0.session?.expiresIn = $1 },
        limit("session idle", .sessionIdle) { scenario, left in
            scenario.session?.lastUsed = Seconds(scenario.lifetimes.sessionIdle.count - left.count)
        },
        limit("session expiry at refresh", .sessionExpired) { $0.exchange.session?.expiresIn = $1 },
        limit("session idle at refresh", .sessionIdle) { scenario, left in
            scenario.exchange.session?.lastUsed = Seconds(scenario.exchange.lifetimes.sessionIdle.count - left.count)
        },
        limit("grant expiry", .grantExpired) { $0.grant?.expiresIn = $1 },
        limit("grace", .late) { scenario, left in scenario.lose(Seconds(scenario.grace.count - left.count)) },
    ]

    private static func limit(
        _ name: String, _ refusal: ExchangeRefusal,
        _ setLeft: @escaping @Sendable (inout ExchangeScenario, Seconds) -> Void
    ) -> GrantRegistryCheck {
        GrantRegistryCheck("limit: \(name)") { fixture in
            for left in [0, 1] as [Seconds] {
                try await inOneSecond {
                    var scenario = try ExchangeScenario()
                    setLeft(&scenario, left)
                    let start = try await fixture.now()
                    try await scenario.put(into: fixture)
                    let attempt = try await scenario.attempt(on: fixture.registry)
                    guard attempt.facts.now == start else { return false }
                    #expect(attempt.refusal == (left == 0 ? refusal : nil))
                    #expect((attempt.grant != nil) == (left == 1))
                    return true
                }
            }
        }
    }

    private static func limit(
        _ name: String, _ refusal: RefreshRefusal,
        _ setLeft: @escaping @Sendable (inout RefreshScenario, Seconds) -> Void
    ) -> GrantRegistryCheck {
        GrantRegistryCheck("limit: \(name)") { fixture in
            for left in [0, 1] as [Seconds] {
                try await inOneSecond {
                    var scenario = try RefreshScenario()
                    setLeft(&scenario, left)
                    let start = try await fixture.now()
                    try await scenario.put(into: fixture)
                    let attempt = try await scenario.attempt(on: fixture.registry)
                    guard attempt.facts.now == start else { return false }
                    #expect(attempt.refusal == (left == 0 ? refusal : nil))
                    #expect((attempt.success != nil) == (left == 1))
                    return true
                }
            }
        }
    }

    /// A real clock may strike between the rows and the question: then once more, with new rows.
    private static func inOneSecond(_ body: () async throws -> Bool) async throws {
        for _ in 0..<20 where try await body() { return }
        Issue.record("never were rows and question of one second")
    }
}

extension GrantRegistryFixture {
    /// The registry's clock, read from its answer about an unknown grant.
    func now() async throws -> UnixTime {
        try await registry.rotate(RefreshScenario().rotation).now
    }
}
