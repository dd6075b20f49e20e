@testable import BrokerHTTP
import BrokerTesting
@testable import NativeSSO
import OAuthWire
import StrictCoding
import Testing

@Suite("Audit records during a flood", .timeLimit(.minutes(1)))
struct AuditLimitTests {
    private let start = ContinuousClock.now
    private let client = Refusal.RefusedClient(
        client: Client(
            id: ClientID(validated: "app-two"), allowedScope: .empty, defaultScope: .empty, audiences: []),
        maximumAuthenticationAge: nil)

    private static func client(_ reason: ClientRefusal) -> Refusal {
        .client(
            Refusal.ClientFailure(reason: reason, client: ClientID(validated: "signer"), usedAuthorization: false))
    }

    @Test("Anonymous refusals have their own limit and displace none that need a login")
    func unproven() {
        let limit = AuditLimit()
        let noise: [Refusal] = [
            .parameter(.grantTypeMissing), .refresh(.tokenNotOurs), Self.client(.assertionSignature),
            .subjectToken(.malformed),
        ]
        let admitted = (0..<30_000).count { number in
            limit.admits(noise[number % noise.count], of: Credential("\(number)"), at: start)
        }
        #expect(admitted == AuditLimit.unproven.burst)
        #expect(limit.admits(.refresh(.replayed), of: Credential("nsr1.x"), at: start))
        #expect(limit.admits(Self.client(.assertionReplayed), of: Credential("assertion"), at: start))
        #expect(
            limit.admits(
                .exchange(.deviceHashMismatch, profile: .deviceID, client: client), of: Credential("token"), at: start))
    }

    @Test("Each token family and reason has a limit of its own")
    func repeated() async throws {
        let limit = AuditLimit()
        let keys = SoftwareMACKeys()
        func token(_ grant: UInt64, _ generation: Int32) async throws -> Credential {
            Credential(
                try await RefreshToken(grantID: UniqueID(high: 7, low: grant), generation: generation).encoded(by: keys)
                    .value
            )
        }
        var admitted = 0
        for generation in 0..<1000 as Range<Int32>
        where limit.admits(.refresh(.grantRevoked), of: try await token(1, generation), at: start) {
            admitted += 1
        }
        #expect(admitted == AuditLimit.repeated.burst)
        #expect(limit.admits(.refresh(.sessionEnded), of: try await token(1, 1), at: start))
        #expect(limit.admits(.refresh(.grantRevoked), of: try await token(256, 1), at: start))
        #expect(limit.admits(.refresh(.grantRevoked), of: try await token(1, 1), at: start + .seconds(600)))
    }

    @Test("Very many families use bounded memory")
    func forgets() {
        let limit = AuditLimit()
        for number in 0..<(3 * AuditLimit.mostCredentials) {
            #expect(limit.admits(.refresh(.grantRevoked), of: Credential("\(number)"), at: start))
        }
    }

    @Test("Each refusal of a repeated token is logged and counted; only a few are audited")
    func tokenThatIsRefusedAgainAndAgain() async throws {
        try await TestBroker.run { broker async throws in
            let first = try #require(try await broker.answer(Requests.currentExchange))
            let token = try #require(try JSONReader.parse(first.body).object?.string("refresh_token"))
            let tooMuch = Requests.refresh(token) + [("scope", "openid not.granted")]
            for _ in 0..<20 { #expect(try await broker.answer(tooMuch)?.status == 400) }
            #expect(broker.domain.audit.events.count == AuditLimit.repeated.burst)
            #expect(broker.log.requests.count == 21)
            #expect(broker.metrics.text.contains("native_sso_refusals_total{reason=\"scope_exceeds_grant\"} 20\n"))
            #expect(broker.metrics.text.contains("native_sso_audit_events_sampled_out_total 12\n"))
        }
    }
}
