import BrokerTesting
import NativeSSO
import Testing

/// Two apps of one group, one live login, and the chain of the second app.
struct World {
    let grantID: UniqueID
    let sessionRowID: UniqueID
    let client: ClientID
    let device: DeviceDigest

    static func make(in database: PostgresFixture) async throws -> World {
        var randomness = SystemRandomNumberGenerator()
        let issuer = Issuer(validated: "https://idp.example.com")
        let (one, two) = (ClientID(validated: "app-one"), ClientID(validated: "app-two"))
        let device = try #require(DeviceDigest(octets: Array(repeating: 7, count: 32)))
        for client in [one, two] {
            try await database.put(client: client, isEnabled: true)
            try await database.put(
                MemberRow(
                    issuer: issuer, client: client,
                    membership: Membership(group: GroupID(validated: "vendor"), role: .both)))
        }
        let session = UniqueID.timeOrdered(milliseconds: 1, using: &randomness)
        let grant = UniqueID.timeOrdered(milliseconds: 1, using: &randomness)
        try await database.put(
            SessionRow(
                id: session, issuer: issuer, sid: SessionID(validated: "sid-1"), subject: Subject(validated: "user"),
                sourceClient: one, device: device, expiresIn: .days(30)))
        try await database.put(
            GrantRow(
                id: grant, session: session, client: two, sourceClient: one, device: device, expiresIn: .days(30),
                scope: Scope(["openid"]), audiences: ["https://api.example.com"]))
        return World(grantID: grant, sessionRowID: session, client: two, device: device)
    }

    func advancement(generation: Int32) -> Advancement {
        Advancement(
            requestID: UniqueID(high: 1, low: UInt64(generation)), grantID: grantID, generation: generation,
            client: client, scope: nil, allowedScope: Scope(["openid"]), grace: 60, boundGrace: 60,
            idleLimit: .days(30))
    }

    /// An exchange in the login that is there.
    func admission(number: UInt64) -> Admission { admission(sid: "sid-1", number: number, firstSight: nil) }

    /// One that brings its login in.
    func firstAdmission(
        sid: String, number: UInt64 = 1000, login: Login = Login(),
        tokenIssuedAt: UnixTime = UnixTime(seconds: 1_800_000_000)
    ) -> Admission {
        admission(
            sid: sid, number: number, firstSight: .days(30), login: login, tokenIssuedAt: tokenIssuedAt)
    }

    /// An exchange that brings no login in.
    /// - Parameter isPermitted: Whether what only the broker can judge, such as the device, is in order.
    func admission(sid: String, client: ClientID, number: UInt64, isPermitted: Bool = true) -> Admission {
        admission(sid: sid, client: client, number: number, firstSight: nil, isPermitted: isPermitted)
    }

    private func admission(
        sid: String, client: ClientID? = nil, number: UInt64, firstSight: Seconds?, login: Login = Login(),
        tokenIssuedAt: UnixTime = UnixTime(seconds: 1_800_000_000), isPermitted: Bool = true
    ) -> Admission {
        Admission(
            requestID: UniqueID(high: 2, low: number), issuer: Issuer(validated: "https://idp.example.com"),
            sessionID: SessionID(validated: sid), subject: Subject(validated: "user"),
            sourceClient: ClientID(validated: "app-one"), otherAudience: [], client: client ?? self.client,
            allowsSelfExchange: false, device: device,
            profile: .deviceID, scope: Scope(["openid"]), audiences: ["https://api.example.com"], login: login,
            tokenIssuedAt: tokenIssuedAt, idleLimit: .days(30), grantLifetime: nil, firstSightLifetime: firstSight,
            isPermitted: isPermitted,
            proposedGrantID: UniqueID(high: 3, low: number), proposedSessionRowID: UniqueID(high: 4, low: number))
    }
}
