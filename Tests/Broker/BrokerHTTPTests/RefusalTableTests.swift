@testable import BrokerHTTP
@testable import HTTPServer
import JOSE
import Logging
import NIOHTTP1
import NativeSSO
import OAuthWire
import Testing

@Suite("The table of refusals")
struct RefusalTableTests {
    static let client = Refusal.RefusedClient(
        client: Domain.client("app-two"), maximumAuthenticationAge: nil)

    static let all: [Refusal] =
        HTTPFault.allCases.map(Refusal.wire) + RequestRefusal.allCases.map(Refusal.request)
        + FormError.allCases.map(Refusal.form) + ParameterDefect.allCases.map(Refusal.parameter)
        + ClientRefusal.allCases.flatMap { reason in
            [true, false].map { .client(.init(reason: reason, client: nil, usedAuthorization: $0)) }
        }
        + DPoPDefect.allCases.map(Refusal.proof) + NonceDefect.allCases.map { .nonce($0, fresh: "N") }
        + SubjectTokenDefect.allCases.map(Refusal.subjectToken)
        + Profile.allCases.flatMap { profile in
            ExchangeRefusal.allCases.map { .exchange($0, profile: profile, client: client) }
        }
        + EnrolmentRefusal.allCases.map(Refusal.enrolment) + HandoffRefusal.allCases.map(Refusal.handoff)
        + RefreshRefusal.allCases.map(Refusal.refresh)
        + RateLimited.Limit.allCases.map { .rate(RateLimited($0, retryAfter: 7)) }
        + LogoutRefusal.allCases.map(Refusal.logout) + RevocationRefusal.allCases.map(Refusal.revocation)
        + EventRefusal.allCases.map(Refusal.event)
        + codes.map(Refusal.code)

    static let codes: [CodeRefusal] =
        RelayRefusal.allCases.map(CodeRefusal.relay) + ProviderError.allCases.map(CodeRefusal.provider)
        + ProviderFault.allCases.map(CodeRefusal.fault) + unusableAnswers
        + EnrolmentRefusal.allCases.map(CodeRefusal.enrolment)

    private static let unusableAnswers: [CodeRefusal] =
        AnswerFault.allCases.map(CodeRefusal.unusable) + SubjectTokenDefect.allCases.map(CodeRefusal.idToken)

    @Test("Descriptions are printable ASCII, and the metrics know every reason")
    func texts() {
        let reasons = Set(RefusalRow.all.map(\.row.reason))
        for refusal in Self.all {
            let text = refusal.answer.body.description.description
            #expect(
                text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }, "\(refusal.reason)")
            #expect(text.utf8.count < 80)
            #expect(reasons.contains(refusal.reason))
            #expect(
                refusal.reason.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
                })
        }
    }

    @Test("Only outages are server errors, and 401 always has a challenge")
    func statuses() {
        for refusal in Self.all {
            let answer = refusal.answer
            let isOutage = isOutage(refusal) || refusal.reason == "http_body_memory"
            #expect((400..<500).contains(answer.status.code) != isOutage, "\(refusal.reason)")
            #expect((answer.status == .serviceUnavailable) == isOutage, "\(refusal.reason)")
            #expect(!isOutage || answer.headers.contains { $0 == ("Retry-After", "1") })
            #expect(!isOutage || answer.body.error == .temporarilyUnavailable)
            #expect((answer.status == .unauthorized) == answer.headers.contains { $0.name == "WWW-Authenticate" })
            #expect((answer.body.error == .invalidClient) == isClientFailure(refusal))
            if case .logout = refusal { #expect(answer.status == .badRequest && answer.body.error == .invalidRequest) }
        }
    }

    private func isClientFailure(_ refusal: Refusal) -> Bool {
        switch refusal {
        case .client, .exchange(.assertionReplayed, profile: _, client: _), .enrolment(.assertionReplayed),
            .refresh(.assertionReplayed), .code(.provider(.invalidClient)),
            .code(.enrolment(.assertionReplayed)):
            true
        default: false
        }
    }

    private func isOutage(_ refusal: Refusal) -> Bool {
        switch refusal {
        case .code(.relay(.inFlight)), .code(.relay(.relayBusy)), .code(.relay(.relayShareUsed)), .code(.fault):
            true
        default: false
        }
    }

    @Test("An identity provider's unusable answer is final, has one reason, and names its fault for the log")
    func unusableAnswers() {
        for refusal in Self.unusableAnswers.map(Refusal.code) {
            #expect(refusal.reason == "idp_answer_unusable" && refusal.answer.body.error == .invalidGrant)
            #expect(refusal.fault.flatMap { RefusalRow.of($0, in: nil)?.reason } == refusal.fault)
        }
        let faults = Self.all.compactMap(\.fault)
        #expect(faults.count == Self.unusableAnswers.count && Set(faults).count == faults.count)
        #expect(Set(faults).isDisjoint(with: ["idp_answer_unusable"]))
    }

    @Test("Only the answer that asks for a nonce has one")
    func nonces() {
        for refusal in Self.all {
            let answer = refusal.answer
            #expect((answer.body.error == .useDPoPNonce) == answer.headers.contains { $0 == ("DPoP-Nonce", "N") })
        }
    }

    /// A second text would tell an attacker which of a token, a device value or a client's name and secret is right.
    @Test("All refusals by state, of subject tokens and of clients share one body each")
    func oneBody() {
        let bodies = Self.all.map(\.answer.body).filter { $0.error == .invalidGrant }.map(\.json)
        #expect(bodies.count > 40)
        #expect(Set(bodies).count == 1)
        let ofTokens = SubjectTokenDefect.allCases.map { Refusal.subjectToken($0) }
        let ofClients = ClientRefusal.allCases.map {
            Refusal.client(.init(reason: $0, client: nil, usedAuthorization: true))
        }
        for refusals in [ofTokens, ofClients] { #expect(Set(refusals.map(\.answer.body.json)).count == 1) }
    }

    @Test(
        "Exchange refusals depend on the profile",
        arguments: [
            (ExchangeRefusal.mayActOther, "invalid_request", "invalid_request"),
            (.subjectTokenTooOld, "invalid_grant", "invalid_grant"),
            (.deviceHashMismatch, "invalid_grant", "invalid_grant"),
            (.otherGroup, "invalid_grant", "invalid_grant"), (.sessionUnknown, "invalid_grant", "invalid_grant"),
            (.deviceBlocked, "invalid_grant", "invalid_grant"), (.clientDisabled, "invalid_grant", "invalid_grant"),
            (.scopeLacksOpenID, "invalid_scope", "invalid_scope"),
            (.scopeExceedsMember, "invalid_scope", "invalid_scope"),
            (.consentRequired, "invalid_scope", "interaction_required"),
            (.assuranceInsufficient, "invalid_grant", "interaction_required"),
            (.loginAfterReplay, "invalid_grant", "interaction_required"),
        ])
    func exchange(refusal: ExchangeRefusal, older: String, current: String) {
        for (profile, code) in [
            (Profile.deviceID, older), (.deviceSecretTransitional, older), (.deviceSecret, current),
        ] {
            #expect(Refusal.exchange(refusal, profile: profile, client: Self.client).answer.body.error.rawValue == code)
        }
    }

    @Test("Every refusal is audited, except of requests that are not token requests")
    func audit() {
        for grant in GrantLabel.allCases {
            for refusal in Self.all {
                let kind = refusal.auditKind(of: grant)
                switch refusal {
                case .wire, .request(.unknownPath), .request(.method): #expect(kind == nil)
                case .subjectToken where grant == .enrolment: #expect(kind == .enrolmentRefused)
                case .subjectToken, .exchange:
                    let isOfHandoff = [.handoff, .handoffRedemption].contains(grant)
                    #expect(kind == (isOfHandoff ? .handoffRefused : .exchangeRefused))
                case .handoff: #expect(kind == .handoffRefused)
                case .enrolment, .code: #expect(kind == .enrolmentRefused)
                case .refresh: #expect(kind == .refreshRefused)
                case .logout: #expect(kind == .logoutRefused)
                case .request, .form, .parameter, .client, .proof, .nonce, .rate, .revocation, .event:
                    #expect(kind == .requestRefused)
                }
            }
        }
    }

    @Test("Refusals are notices, provider faults warnings and lost database writes errors")
    func levels() {
        for refusal in RefreshRefusal.allCases {
            #expect(
                TokenError.refused(.refresh(refusal)).level == (refusal == .stateRegressed ? .error : .notice),
                "\(refusal)")
        }
        // A fault that the broker's or the provider's operator must examine.
        for refusal in Self.codes {
            #expect(TokenError.refused(.code(refusal)).level == (refusal.isProviderFault ? .warning : .notice))
        }
    }
}
