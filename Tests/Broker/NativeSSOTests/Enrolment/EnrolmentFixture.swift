import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

/// An enrolment with every port in memory: the login of `app-one`, a minute ago.
struct EnrolmentFixture {
    static let issuer = Issuer(validated: "https://idp.example.com")
    static let deviceID = "95twdf3w4y6wvftw35634t"

    let clock = FixedClock()
    let registry = StubEnrolmentRegistry()
    let keys = SoftwareMACKeys()
    let signer = StubTokenSigner()
    let limits = RecordingUseLimits()
    let idTokens: StubIDTokenVerifier
    var client = Client(
        id: ClientID(validated: "app-one"), allowedScope: Scope(["openid", "profile"]),
        defaultScope: Scope(["openid"]), audiences: ["https://api.example.com"])
    /// The properties of the login, for tests to change.
    var audience = ["app-one"]
    var age: Seconds = 60
    var life: Seconds = 3600
    var deviceIDHash: String?
    var deviceSecretHash: String?
    var scope: Scope? = Scope(["openid", "device_sso"])
    /// `nil`: the current profile.
    var device: DeviceValue?
    var proof: PresentedProof?
    var assertion: PresentedAssertion?
    /// Of the IdP.
    var prefix = ""
    /// Further claims of the IdP's id_token.
    var moreClaims = JSONObject()

    init(_ profile: Profile = .deviceSecret) throws {
        idTokens = StubIDTokenVerifier(.outage)
        if profile == .deviceID {
            device = DeviceValue(Self.deviceID, profile: .deviceID)
            scope = nil
        }
    }

    var idToken: IDTokenClaims {
        let issuedAt = clock.now.adding(Seconds(-age.count))
        let audience = audience.map { ClientID(validated: $0) }
        var claims = JSONObject()
        for (name, value) in [
            ("iss", "https://idp.example.com"), ("nonce", "n-1"), ("email", "a@example.com"), ("at_hash", "x"),
            ("sid", "idp-session"), ("jti", "theirs"), ("idp", "https://elsewhere.example.com"),
            ("device_sso", "theirs"),
        ] { claims[name] = .string(value) }
        var confirmation = JSONObject()
        confirmation["jkt"] = .string("a key that the identity provider saw")
        claims["cnf"] = .object(confirmation)
        for claim in moreClaims.members { claims[claim.name] = claim.value }
        return IDTokenClaims(
            issuer: Self.issuer, subject: Subject(validated: "user"),
            sessionID: SessionID(validated: "idp-session"), sourceClient: audience[0], audience: audience,
            issuedAt: issuedAt, expiresAt: issuedAt.adding(life),
            login: Login(authenticatedAt: issuedAt, contextClass: "urn:loa", methods: ["pwd"]),
            deviceIDHash: deviceIDHash, deviceSecretHash: deviceSecretHash, hashFunction: .sha256, claims: claims)
    }

    func request(_ token: String = "e30.e30.c2ln") -> EnrolmentRequest {
        EnrolmentRequest(
            requestID: UniqueID(high: 1, low: 1), client: client,
            issuer: IssuerPolicy(
                issuer: Self.issuer, profiles: Set(Profile.allCases), sessionLifetime: .days(7), enrolsByExchange: true),
            idToken: SubjectToken(token), device: device, scope: scope, proof: proof, assertion: assertion)
    }

    func run(_ token: String = "e30.e30.c2ln", verified: Bool = true) async throws(EnrolmentError) -> TokenAnswer {
        if verified { idTokens.answer(.claims(idToken)) }
        return try await Enrolment(
            idTokens: idTokens, registry: registry, devices: keys, limits: limits,
            mint: TokenMint(
                issuer: Broker.issuer, signer: signer, refreshTokens: keys, lifetimes: Lifetimes(),
                subjects: SubjectPrefixes([Self.issuer: prefix])),
            clock: clock
        ).run(request(token))
    }

    func failure(_ token: String = "e30.e30.c2ln", verified: Bool = true) async -> Failure<EnrolmentRefusal>? {
        do throws(EnrolmentError) {
            _ = try await run(token, verified: verified)
            return nil
        } catch {
            return Failure(error)
        }
    }
}
