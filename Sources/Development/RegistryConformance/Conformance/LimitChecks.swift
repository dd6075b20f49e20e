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
        limit(name) { fixture, left in
            var scenario = try ExchangeScenario()
            setLeft(&scenario, left)
            try await scenario.put(into: fixture)
            let attempt = try await scenario.attempt(on: fixture.registry)
            return Answer(
                now: attempt.facts.now, isRefused: attempt.refusal == refusal, isGranted: attempt.grant != nil)
        }
    }

    private static func limit(
        _ name: String, _ refusal: RefreshRefusal,
        _ setLeft: @escaping @Sendable (inout RefreshScenario, Seconds) -> Void
    ) -> GrantRegistryCheck {
        limit(name) { fixture, left in
            var scenario = try RefreshScenario()
            setLeft(&scenario, left)
            try await scenario.put(into: fixture)
            let attempt = try await scenario.attempt(on: fixture.registry)
            return Answer(
                now: attempt.facts.now, isRefused: attempt.refusal == refusal, isGranted: attempt.success != nil)
        }
    }

    private struct Answer {
        let now: UnixTime
        let isRefused: Bool
        let isGranted: Bool
    }

    private static func limit(
        _ name: String, _ ask: @escaping @Sendable (any GrantRegistryFixture, Seconds) async throws -> Answer
    ) -> GrantRegistryCheck {
        GrantRegistryCheck("limit: \(name)") { fixture in
            for left in [0, 1] as [Seconds] {
                var start: UnixTime
                var answer: Answer
                // A real clock may strike between the rows and the question: then once more, with new rows.
                repeat {
                    start = try await fixture.now()
                    answer = try await ask(fixture, left)
                } while answer.now != start
                #expect(answer.isRefused == (left == 0) && answer.isGranted == (left == 1), "\(left.count) s are left")
            }
        }
    }
}

extension GrantRegistryFixture {
    /// The registry's clock, read from its answer about an unknown grant.
    func now() async throws -> UnixTime {
        try await registry.rotate(RefreshScenario().rotation).now
    }
}
