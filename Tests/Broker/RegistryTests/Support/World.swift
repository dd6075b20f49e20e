import BrokerTesting
import Glibc
import NativeSSO
import RegistryConformance

/// Two apps of one group, one live login, and the family of the second app, always under the same names.
struct World: Sendable {
    let grantID: UniqueID
    let sessionRowID: UniqueID
    let client: ClientID
    let device: DeviceDigest
    private let scenario: ExchangeScenario

    static func make(in database: PostgresFixture) async throws -> World {
        var randomness = SystemRandomNumberGenerator()
        var scenario = try ExchangeScenario()
        scenario.issuer = Issuer(validated: "https://idp.example.com")
        scenario.source = ClientID(validated: "app-one")
        scenario.target = ClientID(validated: "app-two")
        scenario.client = Client.app(scenario.target)
        scenario.subject = Subject(validated: "user")
        scenario.sourceMember = Membership(group: GroupID(validated: "vendor"), role: .both)
        scenario.targetMember = scenario.sourceMember
        let session = SessionRow(
            id: .timeOrdered(milliseconds: 1, using: &randomness), issuer: scenario.issuer,
            sid: SessionID(validated: "sid-1"), subject: scenario.subject, sourceClient: scenario.source,
            device: try scenario.digest(), expiresIn: .days(30))
        scenario.session = session
        try await scenario.put(into: database)
        let grant = GrantRow(
            id: .timeOrdered(milliseconds: 1, using: &randomness), session: session.id, client: scenario.target,
            sourceClient: scenario.source, device: session.device, expiresIn: .days(30), scope: Scope(["openid"]),
            audiences: scenario.client.audiences)
        try await database.put(grant)
        return World(
            grantID: grant.id, sessionRowID: session.id, client: scenario.target, device: session.device,
            scenario: scenario)
    }

    func rotation(generation: Int32) -> Rotation {
        RefreshScenario(after: scenario, grantID: grantID, generation: generation).rotation
    }

    /// An exchange that may create its session. Like every id_token here, its own has expired.
    func firstAdmission(
        sid: String, login: Login = Login(), tokenIssuedAt: UnixTime = UnixTime(seconds: Int64(time(nil)))
    ) throws -> Admission {
        try admission(sid: sid, isFirstSight: true, login: login, tokenIssuedAt: tokenIssuedAt)
    }

    /// An exchange in the live session.
    /// - Parameter isPermitted: Whether the broker's own checks, such as the device hash, succeeded.
    func admission(
        sid: String = "sid-1", client: ClientID? = nil, isPermitted: Bool = true, isFirstSight: Bool = false,
        login: Login = Login(), tokenIssuedAt: UnixTime = UnixTime(seconds: Int64(time(nil)))
    ) throws -> Admission {
        var asked = scenario
        asked.sessionID = SessionID(validated: sid)
        asked.client = Client.app(client ?? self.client)
        asked.login = login
        asked.now = tokenIssuedAt
        asked.issuedAt = tokenIssuedAt
        asked.expiresAt = tokenIssuedAt
        asked.policy = IssuerPolicy(
            issuer: asked.issuer, profiles: [.deviceID], admitsOnFirstSight: isFirstSight, sessionLifetime: .days(30))
        if !isPermitted { asked.deviceHash = "AAAAAAAAAAAAAAAAAAAAAA" }
        return try asked.admission
    }
}
