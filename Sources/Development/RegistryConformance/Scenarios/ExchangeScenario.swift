import BrokerTesting
import Crypto
public import NativeSSO
import Testing

/// App 2 wants to use the login of app 1: all that an exchange depends on, at first such that it is granted. A test
/// changes the one thing that it is about.
///
/// The names are new in each scenario, so many scenarios fit into one registry. Times of the id_token are by the
/// broker's clock ``now``; those of the rows are relative to the registry's own.
public struct ExchangeScenario: Sendable {
    public var now = FixedClock().now

    public var issuer: Issuer
    public var source: ClientID
    public var target: ClientID
    public var group: GroupID
    public var subject: Subject
    public var sessionID: SessionID

    // What app 2 sends, and how it is registered.
    public var device: DeviceValue
    public var scope: Scope?
    public var client: Client
    public var policy: IssuerPolicy
    public var lifetimes = Lifetimes()
    public var scopesRequiringConsent = Scope.empty
    public var proof: PresentedProof?
    public var assertion: PresentedAssertion?

    // The id_token.
    public var issuedAt: UnixTime
    public var expiresAt: UnixTime
    public var otherAudience: [ClientID] = []
    public var login: Login
    public var hashFunction = TokenHashFunction.sha256
    /// `di_hash` or `ds_hash`, whichever the profile asks for.
    public var deviceHash: String?
    public var mayAct: ClientID?
    public var isKeyCurrent = true

    // The rows.
    public var clientIsEnabled = true
    public var sourceMember: Membership?
    public var targetMember: Membership?
    public var session: SessionRow?
    /// `nil`: the registry has not seen the device.
    public var deviceIsBlocked: Bool?
    /// What app 2 has shown on the device before; then the registry has seen it.
    public var pinnedKey: KeyThumbprint?
    /// Whether a copy of app 2's refresh token was used in the session, just now.
    public var wasReplayed = false
    /// A proof that was presented before.
    public var usedProof: ProofID?
    /// An assertion that was.
    public var usedAssertion: AssertionID?

    /// What app 2 may have, and gets where it names nothing.
    public static let scope = Scope(["openid", "profile", "orders.read"])

    public init(profile: Profile = .deviceID) throws {
        let mark = String(UniqueID.random().description.suffix(12))
        issuer = Issuer(validated: "https://idp.example.com/\(mark)")
        source = ClientID(validated: "app-one-\(mark)")
        target = ClientID(validated: "app-two-\(mark)")
        group = GroupID(validated: "apps-\(mark)")
        subject = Subject(validated: "248289761001")
        sessionID = SessionID(validated: "08a5019c-17e1-4977-8f42-\(mark)")
        device = try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: profile))
        deviceHash = device.hash(function: hashFunction)
        client = Client(
            id: target, allowedScope: Self.scope, defaultScope: Self.scope, audiences: ["https://api.example.com"])
        policy = IssuerPolicy(issuer: issuer, profiles: Set(Profile.allCases))
        issuedAt = now.before(.minutes(10))
        expiresAt = now.adding(.minutes(50))
        login = Login(
            authenticatedAt: now.before(.hours(2)), contextClass: "urn:example:loa2", methods: ["pwd", "otp"])
        sourceMember = Membership(group: group, role: .both)
        targetMember = Membership(group: group, role: .both)
        session = nil
        session = SessionRow(
            id: .random(), issuer: issuer, sid: sessionID, subject: subject, sourceClient: source,
            device: try digest(), expiresIn: .days(30))
        session?.profile = profile
        session?.login = login
    }

    public func digest() throws(PortError) -> DeviceDigest { try SoftwareMACKeys().digest(device, at: issuer) }

    public var claims: IDTokenClaims {
        IDTokenClaims(
            issuer: issuer, subject: subject, sessionID: sessionID, sourceClient: source,
            audience: [source] + otherAudience, issuedAt: issuedAt, expiresAt: expiresAt, login: login,
            deviceIDHash: device.profile == .deviceID ? deviceHash : nil,
            deviceSecretHash: device.profile == .deviceID ? nil : deviceHash, hashFunction: hashFunction,
            mayAct: mayAct, isKeyCurrent: isKeyCurrent)
    }

    public var request: ExchangeRequest {
        ExchangeRequest(
            requestID: .random(), client: client, issuer: policy, subjectToken: SubjectToken("an id_token"),
            device: device, scope: scope, proof: proof, assertion: assertion)
    }

    /// Puts the rows there.
    public func put(into fixture: any GrantRegistryFixture) async throws {
        try await fixture.put(client: source, isEnabled: true)
        try await fixture.put(client: target, isEnabled: clientIsEnabled)
        if let sourceMember {
            try await fixture.put(MemberRow(issuer: issuer, client: source, membership: sourceMember))
        }
        if let targetMember {
            try await fixture.put(MemberRow(issuer: issuer, client: target, membership: targetMember))
        }
        if let session { try await fixture.put(session) }
        if wasReplayed, let session {
            var row = GrantRow(
                id: .random(), session: session.id, client: target, sourceClient: source, device: session.device,
                expiresIn: .days(20), scope: Self.scope, audiences: client.audiences)
            row.isRevoked = true
            row.wasReplayed = true
            try await fixture.put(row)
        }
        if let usedProof { try await fixture.put(usedProof) }
        if let usedAssertion { try await fixture.put(usedAssertion) }
        if deviceIsBlocked != nil || pinnedKey != nil {
            try await fixture.put(
                DeviceRow(
                    issuer: issuer, digest: digest(), isBlocked: deviceIsBlocked ?? false,
                    pins: pinnedKey.map { [target: $0] } ?? [:]))
        }
    }
}
