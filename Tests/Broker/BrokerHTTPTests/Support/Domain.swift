@testable import BrokerHTTP
import BrokerTesting
import RegistryConformance
import JOSE
import NativeSSO
import StrictCoding
import Testing

/// The domain's real rules over in-memory ports. `app-one` has a login, and `app-two` may use it.
struct Domain: Sendable {
    static let issuer = Issuer(validated: "https://idp.example.com")
    /// The broker's own.
    static let broker = Issuer(validated: "https://sso.example.com")
    static let subject = Subject(validated: "248289761001")
    static let sessionID = SessionID(validated: "S1")
    static let deviceID = "95twdf3w4y6wvftw35634t"
    static let deviceSecret = "device-secret-of-this-phone"
    static let sessionRow = UniqueID(high: 1, low: 1)

    let tokenEndpoint: TargetURI
    let clock = FixedClock()
    let registry = InMemoryGrantRegistry()
    let directory = InMemoryClientDirectory(clients)
    let verifier: StubIDTokenVerifier
    let signer = StubTokenSigner()
    let macKeys = SoftwareMACKeys()
    let audit = RecordingAuditTrail()
    let assertions = InMemoryAssertionRegister()
    let logouts = InMemoryLogoutRegistry()
    let revocations = InMemoryRevocationRegistry()
    let logoutVerifier: StubLogoutTokenVerifier
    let eventVerifier = StubSecurityEventVerifier(.nothing(signer: issuer))

    static let clients: [Client] = [
        client("app-one"), client("app-two"),
        client("app-bound", proofPolicy: .optional), client("app-always-bound", proofPolicy: .required),
        client("app-refresh-only", grants: [.refreshToken]),
        client("app-disabled", isEnabled: false),
        client("server", authentication: .clientSecretBasic),
        client("api", authentication: .clientSecretBasic, introspects: ["https://api.example.com"]),
        client("public-api", introspects: ["https://api.example.com"]),
        client("signer", authentication: .privateKeyJWT),
        client("demanding", contextClasses: ["urn:example:loa3"], maximumAuthenticationAge: 600),
    ]

    static func client(
        _ id: String, authentication: Client.Authentication = .none, isEnabled: Bool = true,
        grants: Set<Client.Grant> = Set(Client.Grant.allCases), contextClasses: [String] = [],
        maximumAuthenticationAge: Seconds? = nil, proofPolicy: Client.ProofPolicy = .off, introspects: [String] = []
    ) -> Client {
        Client(
            id: ClientID(validated: id), authentication: authentication, isEnabled: isEnabled, grants: grants,
            allowedScope: Scope(["openid", "profile", "orders.read", "payments"]),
            defaultScope: Scope(["openid", "profile"]), audiences: ["https://api.example.com"],
            acceptedContextClasses: contextClasses, maximumAuthenticationAge: maximumAuthenticationAge,
            proofPolicy: proofPolicy, introspects: introspects)
    }

    init() throws {
        tokenEndpoint = try #require(TargetURI("https://sso.example.com/token"))
        let device = try #require(DeviceDigest(octets: [UInt8](repeating: 7, count: 32)))
        verifier = StubIDTokenVerifier(.claims(Self.claims(at: clock.now)))
        logoutVerifier = StubLogoutTokenVerifier(Self.logout(at: clock.now))
        let group = GroupID(validated: "suite")
        for client in Self.clients {
            registry.put(client: client.id, isEnabled: client.isEnabled)
            registry.put(
                MemberRow(
                    issuer: Self.issuer, client: client.id,
                    membership: Membership(group: group, role: client.id.string == "app-one" ? .source : .target)))
        }
        registry.put(
            SessionRow(
                id: Self.sessionRow, issuer: Self.issuer, sid: Self.sessionID, subject: Self.subject,
                sourceClient: ClientID(validated: "app-one"), device: device,
                expiresIn: .days(90)))
        directory.setScopesRequiringConsent(Scope(["payments"]))
    }

    static func claims(at now: UnixTime, all claims: JSONObject = JSONObject()) -> IDTokenClaims {
        let issued = UnixTime(seconds: now.seconds - 3600)
        return IDTokenClaims(
            issuer: issuer, subject: subject, sessionID: sessionID, sourceClient: ClientID(validated: "app-one"),
            audience: [ClientID(validated: "app-one")], issuedAt: issued, expiresAt: issued.adding(.hours(2)),
            login: Login(authenticatedAt: issued, contextClass: "urn:example:loa1", methods: ["pwd"]),
            deviceIDHash: DeviceValue(deviceID, profile: .deviceID)?.hash(function: .sha256),
            deviceSecretHash: DeviceValue(deviceSecret, profile: .deviceSecret)?.hash(function: .sha256),
            hashFunction: .sha256, claims: claims)
    }

    static func logout(
        at now: UnixTime, issuer: Issuer = issuer, audience: [String] = ["app-one"], tokenID: String = "one"
    ) -> LogoutTokenClaims {
        LogoutTokenClaims(
            ProviderSignal(
                cause: .logoutToken, issuer: issuer, subject: .session(sessionID), effectiveAt: now, signer: issuer,
                tokenID: tokenID, refusedAfter: now.adding(360)),
            audience: audience.map(ClientID.init(validated:)))
    }

    /// Of ``accessToken(_:type:issuer:key:)``.
    static var verificationKey: Pending<Result<JSONWebKey, JWSError>, PortError> {
        do {
            return .done(.success(.success(try TestKey.shared(.es256).publicKey)))
        } catch {
            return .done(.failure(.broken("no test key")))
        }
    }

    static let issuers = [
        IssuerPolicy(
            issuer: issuer, audienceAliases: ["api://default"], profiles: [.deviceID, .deviceSecret],
            acceptsHyphenatedIDTokenType: false),
        IssuerPolicy(
            issuer: Issuer(validated: "https://lenient.example"), profiles: Set(Profile.allCases),
            acceptsHyphenatedIDTokenType: true),
    ]
}

/// Holds calls to the registry back until the test opens it.
final class Gate: Sendable {
    private let (opened, opening) = AsyncStream.makeStream(of: Never.self)
    private let (arrived, arriving) = AsyncStream.makeStream(of: Void.self)

    /// Waits in a task of its own: a request that is cancelled would end the stream for all.
    func pass() async {
        arriving.yield()
        await Task { [opened] in for await _ in opened {} }.value
    }

    /// Returns once this many calls have arrived.
    func arrivals(_ count: Int) async {
        var missing = count
        for await _ in arrived {
            missing -= 1
            if missing == 0 { return }
        }
    }

    func open() { opening.finish() }
}

struct GatedRegistry: GrantRegistry {
    let registry: any GrantRegistry
    let gate: Gate

    func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts {
        await gate.pass()
        return try await registry.admit(admission)
    }

    func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts {
        await gate.pass()
        return try await registry.rotate(rotation)
    }

    func markUnanswered(_ token: RefreshToken) async throws(PortError) { try await registry.markUnanswered(token) }
}
