import BrokerTesting
import RegistryConformance
import Glibc
import NativeSSO
import Testing

/// Two apps of one group, one live login, and the family of the second app.
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

    func rotation(generation: Int32) -> Rotation {
        .made(of: Client.app(client), grantID: grantID, generation: generation)
    }

    /// An exchange in the live session.
    func admission(number: UInt64) throws -> Admission { try admission(sid: "sid-1", number: number, firstSight: nil) }

    /// An exchange that may create its session.
    func firstAdmission(
        sid: String, number: UInt64 = 1000, login: Login = Login(),
        tokenIssuedAt: UnixTime = UnixTime(seconds: Int64(time(nil)))
    ) throws -> Admission {
        try admission(
            sid: sid, number: number, firstSight: .days(30), login: login, tokenIssuedAt: tokenIssuedAt)
    }

    /// An exchange that may not create a session.
    /// - Parameter isPermitted: Whether the broker's own checks, such as the device hash, succeeded.
    func admission(sid: String, client: ClientID, number: UInt64, isPermitted: Bool = true) throws -> Admission {
        try admission(sid: sid, client: client, number: number, firstSight: nil, isPermitted: isPermitted)
    }

    private func admission(
        sid: String, client: ClientID? = nil, number: UInt64, firstSight: Seconds?, login: Login = Login(),
        tokenIssuedAt: UnixTime = UnixTime(seconds: Int64(time(nil))), isPermitted: Bool = true
    ) throws -> Admission {
        try .made(
            by: Client.app(client ?? self.client),
            IDTokenClaims(
                issuer: Issuer(validated: "https://idp.example.com"), subject: Subject(validated: "user"),
                sessionID: SessionID(validated: sid), sourceClient: ClientID(validated: "app-one"), audience: [],
                issuedAt: tokenIssuedAt, expiresAt: tokenIssuedAt.adding(3600), login: login, hashFunction: .sha256,
                isKeyCurrent: true),
            sessionID: SessionID(validated: sid), device: device, firstSight: firstSight, isPermitted: isPermitted,
            number: number)
    }
}
