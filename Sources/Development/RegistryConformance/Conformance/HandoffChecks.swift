import BrokerTesting
import NativeSSO
import Testing

extension GrantRegistryConformance {
    static let handoffChecks =
        handoffRefusals + handoffExchangeRefusals + redemptionRefusals + handoffSuccesses + handoffRaces

    // MARK: The app

    private static let handoffRefusals: [GrantRegistryCheck] = [
        makes("the web app is in another group", .handoff(.webAppOutsideGroup)) { scenario in
            scenario.webMember = Membership(
                group: GroupID(validated: "other-\(scenario.exchange.group)"), role: .target,
                handoffOrigins: [scenario.origin])
        },
        makes("the web app may not use logins of others", .handoff(.webAppOutsideGroup)) { scenario in
            scenario.webMember = Membership(
                group: scenario.exchange.group, role: .source, handoffOrigins: [scenario.origin])
        },
        makes("the web app is disabled", .handoff(.webAppUnusable)) { $0.webIsEnabled = false },
        GrantRegistryCheck("hand-off refused: beyond the scope ceiling of the web app") { fixture in
            var scenario = try HandoffScenario()
            scenario.limitScope()
            try await refuses(.exchange(.scopeExceedsMember, by: scenario.web), scenario, on: fixture)
        },
        GrantRegistryCheck("hand-off refused: the web app demands a stronger login") { fixture in
            var scenario = try HandoffScenario()
            scenario.web.acceptedContextClasses = ["urn:example:loa3"]
            try await refuses(.exchange(.assuranceInsufficient, by: scenario.web), scenario, on: fixture)
        },
    ]

    /// The app's use of the login is judged as its exchange, but for the scope: it gets no tokens.
    private static let handoffExchangeRefusals: [GrantRegistryCheck] =
        ExchangeRefusal.allCases
        .filter { refusal in
            let step = ExchangeScenario.step(of: refusal)
            let isOfScope = (14...16).contains(step)
            return step >= ExchangeScenario.step(of: .proofReplayed) && !isOfScope && refusal != .selfExchange
        }
        .map { refusal in
            GrantRegistryCheck("hand-off refused as the app's exchange, nothing written: \(refusal)") { fixture in
                var scenario = try HandoffScenario()
                scenario.exchange.spoil(for: refusal)
                var app = scenario.exchange.client
                app.allowsSelfExchange = true
                try await refuses(.exchange(refusal, by: app), scenario, on: fixture)
            }
        }

    private static func makes(
        _ name: String, _ refusal: HandoffFailure, _ spoil: @escaping @Sendable (inout HandoffScenario) -> Void
    ) -> GrantRegistryCheck {
        GrantRegistryCheck("hand-off refused, nothing written: \(name)") { fixture in
            var scenario = try HandoffScenario()
            spoil(&scenario)
            try await refuses(refusal, scenario, on: fixture)
        }
    }

    private static func refuses(
        _ refusal: HandoffFailure, _ scenario: HandoffScenario, on fixture: any GrantRegistryFixture
    ) async throws {
        try await scenario.put(into: fixture)
        let made = try await fixture.writingNothing { try await scenario.make(on: fixture.handoffs) }
        #expect(made.refusal == refusal && !made.facts.isKept)
        #expect(try await fixture.handoffs.handoff(scenario.code) == nil)
    }

    // MARK: The web app

    private static let redemptionRefusals: [GrantRegistryCheck] = [
        redeems("the app may not hand off any more", .handoff(.withdrawn)) { scenario, fixture in
            try await fixture.put(
                MemberRow(
                    issuer: scenario.exchange.issuer, client: scenario.exchange.target,
                    membership: Membership(group: scenario.exchange.group, role: .target)))
        },
        redeems("the origin was removed", .handoff(.withdrawn)) { scenario, fixture in
            scenario.webMember = Membership(group: scenario.exchange.group, role: .target)
            try await scenario.putWebApp(into: fixture)
        },
        GrantRegistryCheck("redemption refused: the login is judged again, and the code stays") { fixture in
            for (refusal, change) in laterRefusals {
                try await expectRefusal(after: change, on: fixture) { .exchange(refusal, by: $0.web) }
            }
        },
    ]

    private typealias Change = @Sendable (inout HandoffScenario, any GrantRegistryFixture) async throws -> Void

    /// What an operator, the user or the identity provider may do between code and redemption.
    private static let laterRefusals: [(ExchangeRefusal, Change)] = [
        (
            .clientDisabled,
            { scenario, fixture in
                scenario.webIsEnabled = false
                try await scenario.putWebApp(into: fixture)
            }
        ),
        (
            .scopeExceedsMember,
            { scenario, fixture in
                scenario.limitScope()
                try await scenario.putWebApp(into: fixture)
            }
        ),
        (.assuranceInsufficient, { scenario, _ in scenario.web.acceptedContextClasses = ["urn:example:loa3"] }),
        (.scopeExceedsClient, { scenario, _ in scenario.web.allowedScope = Scope(["openid"]) }),
        (.sourceNotInGroup, { try await $1.removeMember($0.exchange.source, at: $0.exchange.issuer) }),
    ]

    private static func redeems(_ name: String, _ refusal: HandoffFailure, _ change: @escaping Change)
        -> GrantRegistryCheck
    {
        GrantRegistryCheck("redemption refused, nothing written: \(name)") { fixture in
            try await expectRefusal(after: change, on: fixture) { _ in refusal }
        }
    }

    /// - Parameter refusal: Of the redemption, by the changed scenario.
    private static func expectRefusal(
        after change: Change, on fixture: any GrantRegistryFixture, _ refusal: (HandoffScenario) -> HandoffFailure
    ) async throws {
        var scenario = try await HandoffScenario().placed(in: fixture)
        #expect(try await scenario.make(on: fixture.handoffs).refusal == nil)
        try await change(&scenario, fixture)
        let expected = refusal(scenario)
        let result = try await fixture.writingNothing { [scenario] in
            try await scenario.redeem(on: fixture.handoffs)
        }
        #expect(result.refusal == expected && result.defect == nil)
    }

    // MARK: Success

    private static let handoffSuccesses: [GrantRegistryCheck] = [
        GrantRegistryCheck("hand-off: the code gives no grant, its redemption one, in the app's session") { fixture in
            let scenario = try await HandoffScenario().placed(in: fixture)
            let (made, atMaking) = try await fixture.counting { try await scenario.make(on: fixture.handoffs) }
            #expect(made.refusal == nil && made.facts.isKept && atMaking == RegistryCounts(auditRows: 1))
            let (result, atRedemption) = try await fixture.counting {
                try await scenario.redeem(on: fixture.handoffs)
            }
            #expect(result.grant?.generation == 1)
            #expect(atRedemption == .init(grants: 1, liveGrants: 1, auditRows: 2))
        },
        GrantRegistryCheck("hand-off: neither the app's tokens nor the first browser end") { fixture in
            let scenario = try await HandoffScenario().placed(in: fixture)
            let app = try #require(try await scenario.exchange.attempt(on: fixture.registry).grant)
            var grants: [GrantFacts] = []
            for browser in [scenario, try scenario.again()] {
                #expect(try await browser.make(on: fixture.handoffs).refusal == nil)
                grants.append(try #require(try await browser.redeem(on: fixture.handoffs).grant))
            }
            #expect(Set(grants.map(\.id)).count == 1)
            let refreshed = try await scenario.exchange.refresh(app).attempt(on: fixture.registry)
            #expect(refreshed.success == .advanced)
        },
        GrantRegistryCheck("hand-off: an app may hand off its own login") { fixture in
            var scenario = try HandoffScenario()
            scenario.exchange.source = scenario.exchange.target
            scenario.exchange.sourceMember = Membership(group: scenario.exchange.group, role: .both, handoff: .bearer)
            scenario.exchange.targetMember = scenario.exchange.sourceMember
            try await scenario.put(into: fixture)
            #expect(try await scenario.make(on: fixture.handoffs).refusal == nil)
            #expect(try await scenario.redeem(on: fixture.handoffs).grant != nil)
        },
        GrantRegistryCheck("hand-off: an app with a key hands off if its membership says so") { fixture in
            var scenario = try HandoffScenario()
            scenario.exchange.client.proofPolicy = .required
            scenario.exchange.proof = .random()
            scenario.exchange.targetMember = Membership(group: scenario.exchange.group, role: .target, handoff: .dpop)
            try await scenario.put(into: fixture)
            let (made, growth) = try await fixture.counting { [scenario] in
                try await scenario.make(on: fixture.handoffs)
            }
            #expect(made.refusal == nil)
            #expect(growth == .init(auditRows: 1, usedProofs: 1), "the code binds no key on the device")
            #expect(try await scenario.redeem(on: fixture.handoffs).grant != nil)
        },
        GrantRegistryCheck("hand-off: the redemption of a login of first sight begins its session") { fixture in
            var scenario = try HandoffScenario()
            let name = scenario.exchange
            scenario.exchange.session = nil
            scenario.exchange.policy = IssuerPolicy(
                issuer: name.issuer, profiles: name.policy.profiles, admitsOnFirstSight: true)
            try await scenario.put(into: fixture)
            let (made, atMaking) = try await fixture.counting { [scenario] in
                try await scenario.make(on: fixture.handoffs)
            }
            #expect(made.refusal == nil && atMaking == RegistryCounts(auditRows: 1))
            let (result, growth) = try await fixture.counting { [scenario] in
                try await scenario.redeem(on: fixture.handoffs)
            }
            #expect(result.grant != nil)
            #expect(growth == .init(sessions: 1, grants: 1, liveGrants: 1, auditRows: 2))
        },
    ]

    // MARK: Races

    private static let handoffRaces: [GrantRegistryCheck] = [
        GrantRegistryCheck("race: one of 8 redemptions of one code gets a grant") { fixture in
            let scenario = try await HandoffScenario().placed(in: fixture)
            #expect(try await scenario.make(on: fixture.handoffs).refusal == nil)
            let (results, growth) = try await fixture.counting {
                try await atOnce(8) { try await scenario.redeem(on: fixture.handoffs) }
            }
            #expect(results.count { $0.grant != nil } == 1)
            #expect(results.count { $0.refusal == .handoff(.codeUsed) } == 7)
            #expect(growth == .init(grants: 1, liveGrants: 1, auditRows: 2))
        },
        GrantRegistryCheck("race: a redemption and the end of its session") { fixture in
            for _ in 0..<10 {
                let scenario = try await HandoffScenario().placed(in: fixture)
                #expect(try await scenario.make(on: fixture.handoffs).refusal == nil)
                let session = try #require(scenario.exchange.session).id
                async let end: Void = fixture.endSession(session)
                let results = try await atOnce(2) { try await scenario.redeem(on: fixture.handoffs) }
                try await end
                #expect(results.allSatisfy { $0.defect == nil })
                #expect(results.count { $0.grant != nil } <= 1)
                let next = try scenario.again()
                let app = try next.entry.app.request.client
                let late = try await next.make(on: fixture.handoffs)
                #expect(late.refusal == .exchange(.sessionEnded, by: app))
            }
        },
    ]
}

extension HandoffScenario {
    /// The same login, in another browser.
    fileprivate func again() throws -> HandoffScenario {
        var next = try HandoffScenario()
        next.exchange = exchange
        next.web = web
        next.webMember = webMember
        return next
    }

    /// The web app may have less than its default scope.
    fileprivate mutating func limitScope() {
        webMember = Membership(
            group: exchange.group, role: .target, scopeCeiling: Scope(["openid"]), handoffOrigins: [origin])
    }
}
