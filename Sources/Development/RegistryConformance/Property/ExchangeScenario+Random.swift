import BrokerTesting
package import NativeSSO

extension ExchangeScenario {
    /// Any world and any request of small domains, the edges of every rule among them. About a third are granted.
    init(using randomness: inout SeededRandom) throws {
        let profile = Profile.allCases.randomElement(using: &randomness) ?? .deviceID
        try self.init(profile: profile)
        if randomness.oneIn(6) { source = target }
        lifetimes = Lifetimes(sessionIdle: randomness.mostly(.days(30), or: [1000]))
        randomizeRegistration(&randomness)
        randomizeToken(&randomness)
        randomizeGroup(&randomness)
        try randomizeSession(&randomness)
        clientIsEnabled = !randomness.oneIn(12)
        deviceIsBlocked = randomness.mostly(nil, or: [false, false, true])
        wasReplayed = randomness.oneIn(12)
        accountIsDisabled = randomness.oneIn(6)
        if randomness.oneIn(20) {
            assertion = .random()
            if randomness.oneIn(3) { usedAssertion = assertion?.id }
        }
        randomizeKeys(&randomness)
    }

    package static let farFuture = UnixTime(seconds: 4_000_000_000)

    private mutating func randomizeKeys(_ randomness: inout SeededRandom) {
        client.proofPolicy = randomness.mostly(.off, or: Client.ProofPolicy.allCases)
        client.authentication = randomness.mostly(.none, or: Client.Authentication.allCases)
        let key = KeyThumbprint.random()
        pinnedKey = randomness.mostly(nil, or: [key, key, .random()])
        guard client.proofPolicy != .off, !randomness.oneIn(5) else { return }
        let proof = PresentedProof.random(by: key)
        self.proof = proof
        if randomness.oneIn(8) { usedProof = proof.id }
    }

    private mutating func randomizeRegistration(_ randomness: inout SeededRandom) {
        let tokens = ["openid", "profile", "orders.read"]
        let allowed = randomness.oneIn(6) ? randomness.subset(of: tokens) : tokens
        let usual = Scope(tokens)
        client = Client(
            id: target, allowedScope: Scope(allowed),
            defaultScope: randomness.mostly(usual, or: [usual, .empty, Scope(["device_sso"]), Scope(["openid"])]),
            audiences: ["https://api.example.com", "https://api2.example.com"],
            refreshTokenLifetime: randomness.mostly(nil, or: [1, .days(1), .days(60)]),
            allowsSelfExchange: Bool.random(using: &randomness),
            acceptedContextClasses: randomness.oneIn(10) ? ["urn:example:loa3"] : [],
            maximumAuthenticationAge: randomness.oneIn(6)
                ? [.hours(2), .minutes(119)].randomElement(using: &randomness) : nil)
        policy = IssuerPolicy(
            issuer: issuer, profiles: Set(Profile.allCases), admitsOnFirstSight: Bool.random(using: &randomness),
            firstSightRequiresUnexpired: randomness.oneIn(4), requiresUnexpiredIDToken: randomness.oneIn(5),
            sessionLifetime: randomness.mostly(.days(7), or: [1, .days(90)]))
        scopesRequiringConsent = randomness.oneIn(10) ? Scope(["orders.read", "payments"]) : .empty
        scope = randomness.mostly(
            nil,
            or: [
                usual, Scope(["openid"]), Scope(["openid", "device_sso"]), Scope(["profile"]),
                Scope(["openid", "admin"]),
                .empty,
            ])
    }

    private mutating func randomizeToken(_ randomness: inout SeededRandom) {
        let maximum = policy.maximumSubjectTokenAge
        issuedAt = randomness.mostly(
            issuedAt,
            or: [
                issuedAt, now.before(.hours(24)), now.before(.hours(24)).before(1), now.before(maximum),
                now.before(maximum).before(1),
            ])
        isKeyCurrent = !randomness.oneIn(12)
        expiresAt = randomness.mostly(expiresAt, or: [now.before(1), now, now.adding(1)])
        if randomness.oneIn(12) { deviceHash = "AAAAAAAAAAAAAAAAAAAAAA" }
        if randomness.oneIn(10) { login = Login() }
        if randomness.oneIn(5) { otherAudience.append(target) }
        if randomness.oneIn(12) { otherAudience.append(ClientID(validated: "stranger-\(group)")) }
    }

    private mutating func randomizeGroup(_ randomness: inout SeededRandom) {
        let ceilings: [Scope?] = [
            Self.scope, .empty, Scope(["openid"]), Scope(["orders.read", "profile", "openid", "more"]),
        ]
        func membership(_ randomness: inout SeededRandom) -> Membership? {
            if randomness.oneIn(12) { return nil }
            let group = randomness.oneIn(8) ? GroupID(validated: "other-\(group)") : group
            let role = randomness.mostly(Membership.Role.both, or: Membership.Role.allCases)
            return Membership(
                group: group, role: role,
                scopeCeiling: randomness.oneIn(3) ? ceilings.randomElement(using: &randomness) ?? nil : nil)
        }
        sourceMember = membership(&randomness)
        // One client, one membership.
        targetMember = source == target ? sourceMember : membership(&randomness)
    }

    private mutating func randomizeSession(_ randomness: inout SeededRandom) throws {
        let idle = lifetimes.sessionIdle
        guard !randomness.oneIn(4), var row = session else {
            session = nil
            return
        }
        row.expiresIn = randomness.mostly(row.expiresIn, or: [row.expiresIn, row.expiresIn, -1, 0, 1, 2])
        row.lastUsed = randomness.mostly(
            0,
            or: [-5, 249, 250, 251, 299, 300, 301, Seconds(idle.count - 1), idle, Seconds(idle.count + 1)])
        if randomness.oneIn(10) { row.subject = Subject(validated: "somebody-else") }
        row.isEnded = randomness.oneIn(10)
        if row.isEnded, Bool.random(using: &randomness) { row.subject = nil }
        // The registry's clock is not the broker's: a far end and a far login make a later id_token and a later login.
        if randomness.oneIn(4) { issuedAt = Self.farFuture }
        if randomness.oneIn(4), login.authenticatedAt != nil {
            login = Login(authenticatedAt: Self.farFuture, contextClass: login.contextClass, methods: login.methods)
        }
        // A session that begins under the name cannot satisfy a limit that is further ahead than the registry keeps its instants.
        let goesOn = !row.isEnded && row.expiresIn > .minutes(1) && row.lastUsed.count < idle.count - 60
        func mayLimit(_ instant: UnixTime) -> Bool { goesOn || instant < Self.farFuture }
        if randomness.oneIn(4), mayLimit(issuedAt) {
            row.iatAfter = [issuedAt.before(1), issuedAt].randomElement(using: &randomness)
        }
        if randomness.oneIn(4), let authenticatedAt = login.authenticatedAt, mayLimit(authenticatedAt) {
            row.authTimeAfter = [authenticatedAt.before(1), authenticatedAt].randomElement(using: &randomness)
        }
        if randomness.oneIn(3) { row.login = Login() }
        session = row
    }
}
