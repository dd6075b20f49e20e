import BrokerTesting
import StrictCoding

@testable import NativeSSO

/// An enrolment by code with every port in memory.
struct CodeFixture {
    static let tokens = ProviderTokens(
        accessToken: "idp-access", expiresIn: 3600, refreshToken: "idp-refresh", scope: "openid profile",
        idToken: "e30.e30.c2ln")

    var login: EnrolmentFixture
    let register = InMemoryCodeRegister()
    let relay = ScriptedCodeRelay(.tokens(tokens))
    let audit = RecordingAuditTrail()
    let pending = PendingCodes()
    /// Short, to keep the tests fast.
    var pauses = CodePauses(
        caller: [.milliseconds(1), .milliseconds(1)], background: Array(repeating: .milliseconds(1), count: 10_000))
    var policy = CodeRelayPolicy(timeout: 5, atOnce: 2)
    var profiles = Set(Profile.allCases)
    var code = PresentedCode(
        code: "SplxlOBeZQQYbYS6WxSbIA", redirectURI: "https://app.example/cb",
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    var proof: PresentedProof?
    var origin: UInt64?
    var number: UInt64 = 1

    init(_ profile: Profile = .deviceSecret) throws {
        login = try EnrolmentFixture(profile)
        login.idTokens.answer(.claims(idToken(atHash: Self.accessTokenHash)))
    }

    static let accessTokenHash = DeviceValue("idp-access", profile: .deviceSecret)?.hash(function: .sha256)

    /// The IdP binds its id_token to a device secret of its own.
    func bind() {
        var bound = Self.tokens
        bound.deviceSecret = "idp-device-secret"
        relay.answer(.tokens(bound))
        login.idTokens.answer(
            .claims(idToken(atHash: Self.accessTokenHash, deviceSecretHash: "of-its-own-secret")))
    }

    /// The login's id_token with the `at_hash` of an access token.
    func idToken(atHash: String?, deviceSecretHash: String? = nil) -> IDTokenClaims {
        let token = login.idToken
        var claims = token.claims
        claims["at_hash"] = atHash.map(JSONValue.string)
        return IDTokenClaims(
            issuer: token.issuer, subject: token.subject, sessionID: token.sessionID,
            sourceClient: token.sourceClient, audience: token.audience, issuedAt: token.issuedAt,
            expiresAt: token.expiresAt,
            login: token.login, deviceIDHash: token.deviceIDHash,
            deviceSecretHash: deviceSecretHash ?? token.deviceSecretHash, hashFunction: token.hashFunction,
            claims: claims)
    }

    var request: CodeRequest {
        CodeRequest(
            requestID: UniqueID(high: 9, low: number), client: login.client,
            issuer: IssuerPolicy(
                issuer: EnrolmentFixture.issuer, profiles: profiles, sessionLifetime: .days(7), codeRelay: policy),
            code: code, device: login.device, scope: login.scope, proof: proof, origin: origin)
    }

    /// One broker, for all its requests.
    func broker() -> CodeEnrolment {
        CodeEnrolment(
            relay: relay, register: register, records: login.keys,
            enrolment: Enrolment(
                idTokens: login.idTokens, registry: login.registry, devices: login.keys, limits: login.limits,
                mint: TokenMint(
                    issuer: Broker.issuer, signer: login.signer, refreshTokens: login.keys, lifetimes: Lifetimes(),
                    subjects: SubjectPrefixes([EnrolmentFixture.issuer: ""])),
                clock: login.clock),
            audit: audit, clock: login.clock, pending: pending, pauses: pauses)
    }

    func run() async throws(CodeError) -> ProviderTokens { try await broker().run(request) }

    /// Retries while the code is in flight, as an app does.
    func eventually() async throws(CodeError) -> ProviderTokens {
        while true {
            do throws(CodeError) {
                return try await run()
            } catch {
                guard case .refused(.relay(.inFlight)) = error else { throw error }
                register.letReservationsRunOut()
                await Task.yield()
            }
        }
    }

    /// - Parameter broker: `nil` makes a new broker.
    func failure(at broker: CodeEnrolment? = nil) async -> Failure<CodeRefusal>? {
        do throws(CodeError) {
            _ = try await (broker ?? self.broker()).run(request)
            return nil
        } catch {
            return Failure(error)
        }
    }
}
