import BrokerTesting
import RegistryConformance
import Testing

@testable import NativeSSO

@Suite struct ExchangeChecksTests {
    @Test func ageIsCountedToTheSecond() throws {
        for (beyond, expected) in [(0, nil), (1, ExchangeRefusal.subjectTokenTooOld)] as [(Int64, ExchangeRefusal?)] {
            var scenario = try ExchangeScenario()
            let age = Seconds(scenario.policy.maximumSubjectTokenAge.count + beyond)
            scenario.issuedAt = scenario.now.adding(Seconds(-age.count))
            #expect(try scenario.checks.binding == expected)
        }
    }

    /// Of an id_token from an enrolment, age and expiry are judged by the rules of the login's IdP.
    @Test func rulesOfTheProviderOfTheLogin() throws {
        let (strict, other) = (
            Issuer(validated: "https://idp.example.com"), Issuer(validated: "https://other.example.com")
        )
        for (provider, old, expired) in [
            (strict, ExchangeRefusal.subjectTokenTooOld, ExchangeRefusal.subjectTokenExpired), (other, nil, nil),
        ] as [(Issuer, ExchangeRefusal?, ExchangeRefusal?)] {
            var scenario = try ExchangeScenario()
            scenario.issuer = provider
            scenario.policy = IssuerPolicy(
                issuer: Issuer(validated: "https://sso.example.com"), profiles: Set(Profile.allCases),
                maximumAgeByProvider: [strict: .days(30)], providersRequiringUnexpired: [strict])
            scenario.expiresAt = scenario.now
            #expect(try scenario.checks.binding == expired)
            scenario.issuedAt = scenario.now.before(.days(30)).before(1)
            #expect(try scenario.checks.binding == old)
        }
    }

    /// The verifier refuses an extreme `iat`. The request checks must not trap on one either.
    @Test func extremeInstantsDoNotTrap() throws {
        for seconds in [Int64.min, .max] {
            var scenario = try ExchangeScenario()
            scenario.issuedAt = UnixTime(seconds: seconds)
            scenario.expiresAt = UnixTime(seconds: seconds)
            scenario.login = Login(authenticatedAt: UnixTime(seconds: seconds))
            #expect(try scenario.checks.binding == (seconds == .min ? .subjectTokenTooOld : nil))
        }
    }

    @Test func expiryCountsOnlyWhereTheIssuerAsksForIt() throws {
        for (isRequired, left, expected) in [
            (false, 0, nil), (true, 0, ExchangeRefusal.subjectTokenExpired), (true, 1, nil),
        ] as [(Bool, Int64, ExchangeRefusal?)] {
            var scenario = try ExchangeScenario()
            scenario.policy = IssuerPolicy(
                issuer: scenario.issuer, profiles: [.deviceID], requiresUnexpiredIDToken: isRequired)
            scenario.expiresAt = scenario.now.adding(Seconds(left))
            #expect(try scenario.checks.binding == expected)
        }
    }

    @Test func firstSightNeedsThePolicyAndAYoungTokenByACurrentKey() throws {
        func expect(
            _ refusal: ExchangeRefusal?, requiringUnexpired: Bool = false, _ change: (inout ExchangeScenario) -> Void
        ) throws {
            var scenario = try ExchangeScenario()
            scenario.policy = IssuerPolicy(
                issuer: scenario.issuer, profiles: [.deviceID], admitsOnFirstSight: true,
                maximumFirstSightAge: .hours(2), firstSightRequiresUnexpired: requiringUnexpired, sessionLifetime: 77)
            change(&scenario)
            #expect(try scenario.checks.firstSightRefusal == refusal)
            #expect(try scenario.admission.firstSightLifetime == (refusal == nil ? 77 : nil))
        }
        try expect(.sessionUnknown) { $0.policy = IssuerPolicy(issuer: $0.issuer, profiles: [.deviceID]) }
        try expect(.firstSightKeyNotCurrent) { $0.isKeyCurrent = false }
        try expect(nil) { $0.issuedAt = $0.now.before(.hours(2)) }
        try expect(.firstSightTokenTooOld) { $0.issuedAt = $0.now.before(.hours(2)).before(1) }
        try expect(.firstSightTokenTooOld) { $0.issuedAt = UnixTime(seconds: .min) }
        // An expired id_token is judged like any other, unless the policy says otherwise.
        try expect(nil) { $0.expiresAt = $0.now }
        try expect(.firstSightKeyNotCurrent) { ($0.expiresAt, $0.isKeyCurrent) = ($0.now, false) }
        for (age, refusal) in [(7200, nil), (7201, ExchangeRefusal.firstSightTokenTooOld)]
            as [(Int64, ExchangeRefusal?)]
        {
            try expect(refusal) { ($0.issuedAt, $0.expiresAt) = ($0.now.before(Seconds(age)), $0.now.before(3600)) }
        }
        try expect(nil, requiringUnexpired: true) { $0.expiresAt = $0.now.adding(1) }
        try expect(.firstSightTokenExpired, requiringUnexpired: true) { $0.expiresAt = $0.now }
        try expect(.firstSightTokenTooOld, requiringUnexpired: true) {
            ($0.issuedAt, $0.expiresAt) = ($0.now.before(7201), $0.now)
        }
    }

    /// An id_token that cannot create a session still works for a known session.
    @Test func aKnownLoginNeedsNoneOfThat() async throws {
        for refusal in [
            ExchangeRefusal.firstSightKeyNotCurrent, .firstSightTokenTooOld, .firstSightTokenExpired,
        ] {
            var scenario = try ExchangeScenario()
            let session = scenario.session
            scenario.spoil(for: refusal)
            scenario.session = session
            let broker = try await Broker(scenario)
            #expect(try await broker.exchange(scenario.request).expiresIn == 300)
        }
    }

    /// Composed and decomposed text are equal in Swift, but not in the protocol.
    @Test func anyAcceptedContextClassWillDo() throws {
        for (contextClass, expected) in [
            ("urn:example:loa2", nil), ("urn:example:loa3", nil), ("urn:example:loa1", .assuranceInsufficient),
            ("URN:EXAMPLE:LOA3", .assuranceInsufficient), (nil, .assuranceInsufficient),
            ("caf\u{E9}", nil), ("cafe\u{301}", .assuranceInsufficient),
        ] as [(String?, ExchangeRefusal?)] {
            var scenario = try ExchangeScenario()
            scenario.client.acceptedContextClasses = ["urn:example:loa2", "urn:example:loa3", "caf\u{E9}"]
            scenario.login.contextClass = contextClass
            #expect(try scenario.checks.interaction == expected)
        }
    }

    @Test func theLoginMayBeAsOldAsTheClientSays() throws {
        for (age, expected) in [(600, nil), (601, .assuranceInsufficient), (nil, .assuranceInsufficient)]
            as [(Int64?, ExchangeRefusal?)]
        {
            var scenario = try ExchangeScenario()
            scenario.client.maximumAuthenticationAge = .minutes(10)
            scenario.login.authenticatedAt = age.map { scenario.now.adding(Seconds(-$0)) }
            #expect(try scenario.checks.interaction == expected)
        }
    }

    @Test func aGrantLivesNoLongerThanItsLoginIsYoungEnough() throws {
        for (maximumAge, age, lifetime, expected) in [
            (600, 0, nil, 601), (600, 500, nil, 101), (600, 600, nil, 1), (600, 601, nil, 1), (600, 500, 50, 50),
            (600, 500, 101, 101), (600, 500, 102, 101), (600, nil, 50, 50), (nil, 500, nil, nil), (nil, 500, 50, 50),
        ] as [(Int64?, Int64?, Int64?, Int64?)] {
            var scenario = try ExchangeScenario()
            scenario.client.maximumAuthenticationAge = maximumAge.map { Seconds($0) }
            scenario.client.refreshTokenLifetime = lifetime.map { Seconds($0) }
            let login = Login(authenticatedAt: age.map { scenario.now.adding(Seconds(-$0)) })
            #expect(scenario.client.grantLifetime(from: login, at: scenario.now)?.count == expected)
        }
    }
}
