import BrokerTesting
import Crypto
package import NativeSSO
package import StrictCoding
import Testing

/// App 2 wants to use the login of app 1: all that an exchange depends on, at first such that it is granted. A test
/// changes the one thing that it is about.
///
/// The names are new in each scenario, so many scenarios fit into one registry. Times of the id_token are by the
/// broker's clock ``now``; those of the rows are relative to the registry's own.
package struct ExchangeScenario: StoredScenario {
    package var now = FixedClock().now

    package var issuer: Issuer
    package var source: ClientID
    package var target: ClientID
    package var group: GroupID
    package var subject: Subject
    package var sessionID: SessionID

    // What app 2 sends, and how it is registered.
    package var device: DeviceValue
    package var scope: Scope?
    package var client: Client
    package var policy: IssuerPolicy
    package var lifetimes = Lifetimes()
    package var scopesRequiringConsent = Scope.empty
    package var proof: PresentedProof?
    package var assertion: PresentedAssertion?

    // The id_token.
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime
    package var otherAudience: [ClientID] = []
    package var login: Login
    package var hashFunction = TokenHashFunction.sha256
    /// `di_hash` or `ds_hash`, whichever the profile asks for.
    package var deviceHash: String?
    package var mayAct: ClientID?
    package var isKeyCurrent = true
    /// All claims, as far as they are copied.
    package var allClaims = JSONObject()

    // The rows.
    package var clientIsEnabled = true
    package var sourceMember: Membership?
    package var targetMember: Membership?
    package var session: SessionRow?
    /// `nil`: the registry has not seen the device.
    package var deviceIsBlocked: Bool?
    /// What app 2 has shown on the device before; then the registry has seen it.
    package var pinnedKey: KeyThumbprint?
    /// Whether the identity provider has disabled the user's account.
    package var accountIsDisabled = false
    /// Whether a copy of app 2's refresh token was used in the session, just now.
    package var wasReplayed = false
    /// A proof that was presented before.
    package var usedProof: ProofID?
    /// An assertion that was.
    package var usedAssertion: AssertionID?

    /// What app 2 may have, and gets where it names nothing.
    package static let scope = Scope(["openid", "profile", "orders.read"])

    package init(profile: Profile = .deviceID) throws {
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

    package func digest() throws(PortError) -> DeviceDigest { try SoftwareMACKeys().digest(device, at: issuer) }

    package var claims: IDTokenClaims {
        IDTokenClaims(
            issuer: issuer, subject: subject, sessionID: sessionID, sourceClient: source,
            audience: [source] + otherAudience, issuedAt: issuedAt, expiresAt: expiresAt, login: login,
            deviceIDHash: device.profile == .deviceID ? deviceHash : nil,
            deviceSecretHash: device.profile == .deviceID ? nil : deviceHash, hashFunction: hashFunction,
            mayAct: mayAct, isKeyCurrent: isKeyCurrent, claims: allClaims)
    }

    package var request: ExchangeRequest {
        ExchangeRequest(
            requestID: .random(), client: client, issuer: policy, subjectToken: SubjectToken("an id_token"),
            device: device, scope: scope, proof: proof, assertion: assertion)
    }

    package func put(into fixture: any RowStore) async throws {
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
        // After the session, which could not begin any more.
        if accountIsDisabled { try await fixture.disable(subject, of: issuer) }
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
