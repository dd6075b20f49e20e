import BrokerTesting
import HTTPServer
import NativeSSO
import StrictCoding
import Testing

@testable import BrokerHTTP

@Suite("POST /security-events and POST /global-token-revocation", .timeLimit(.minutes(1)))
struct SecurityEventEndpointTests {
    private static func event(
        _ body: String = "a.b.c", contentType: String? = "application/secevent+jwt",
        target: String = "/security-events", headers: [String] = []
    ) -> String {
        Requests.post(body, target: target, contentType: contentType, headers: headers)
    }

    private static func revocation(
        _ authorization: [String] = ["Bearer a.b.c"], contentType: String? = "application/json",
        target: String = "/global-token-revocation"
    ) -> String {
        Requests.post(
            "{}", target: target, contentType: contentType, headers: authorization.map { "Authorization: \($0)" })
    }

    private static func signal(
        _ cause: LogoutCause, _ broker: TestBroker, tokenID: String = "one"
    ) -> Result<SecurityEvent, EventError> {
        let now = broker.domain.clock.now
        return .success(
            .signal(
                ProviderSignal(
                    cause: cause, issuer: Domain.issuer, subject: .user(Subject(validated: "user")),
                    effectiveAt: now.adding(-50), signer: Issuer(validated: "https://org.example"), tokenID: tokenID,
                    refusedAfter: now.adding(600))))
    }

    @Test("Every refusal has its status and code at both paths")
    func refusals() async throws {
        try await TestBroker.run { broker async throws in
            for refusal in EventRefusal.allCases {
                broker.domain.eventVerifier.answer(.failure(.refused(refusal)))
                let delivery = try #require(try await broker.backchannelAnswer(Self.event()))
                #expect(delivery.status == 400)
                let body = try #require(try JSONReader.parse(delivery.body).object)
                let (code, status) = Self.codeAndStatus(refusal)
                #expect(body.string("err") == code && body.names == ["err", "description"], "\(refusal)")
                let event = try #require(broker.domain.audit.events.last)
                #expect(event.reason == refusal.row.reason && event.kind == .requestRefused)
                #expect(delivery.values("x-request-id") == [event.requestID.description])
                let revocation = try #require(try await broker.backchannelAnswer(Self.revocation()))
                #expect(revocation.status == status, "\(refusal)")
                #expect((status == 401) == !revocation.values("www-authenticate").isEmpty)
            }
            #expect(broker.domain.logouts.records.isEmpty)
        }
    }

    /// Of an event and of a revocation.
    private static func codeAndStatus(_ refusal: EventRefusal) -> (code: String, status: Int) {
        switch refusal {
        case .algorithmNotAllowed, .unknownKey, .keyRetired, .keyRevoked, .badSignature: ("invalid_key", 401)
        case .issuer: ("invalid_issuer", 401)
        case .audience: ("invalid_audience", 401)
        case .subjectForeign: ("access_denied", 403)
        case .bodyMalformed, .subjectMissing, .subjectFormat: ("invalid_request", 400)
        default: ("invalid_request", 401)
        }
    }

    @Test("The form of the request is judged first")
    func form() async throws {
        try await TestBroker.run { broker async throws in
            for (request, status, reason) in [
                (Self.event(""), 400, "event_token_missing"),
                (Self.event(contentType: "application/jwt"), 400, "http_event_content_type"),
                (Self.event(contentType: nil), 400, "http_event_content_type"),
                (Self.event(target: "/security-events?a=b"), 400, "http_query"),
                (Self.event(headers: ["Content-Encoding: gzip"]), 400, "http_content_encoding"),
                (Self.revocation([]), 401, "event_token_missing"),
                (Self.revocation(["Basic YTpi"]), 401, "event_token_missing"),
                (Self.revocation(["Bearer"]), 401, "event_token_missing"),
                (Self.revocation(["Bearer a.b.c", "Bearer a.b.c"]), 400, "http_authorization_repeated"),
                (
                    Self.revocation(contentType: "application/x-www-form-urlencoded"), 400,
                    "http_event_content_type"
                ),
                (Self.revocation(target: "/global-token-revocation?a"), 400, "http_query"),
            ] {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == status, "\(reason): \(answer.text)")
                #expect(broker.log.backchannelRequests.last?.string("reason") == reason)
            }
            #expect(broker.domain.logouts.records.isEmpty)
            let withCharset = Self.revocation(["bearer a.b.c"], contentType: "application/json; charset=utf-8")
            broker.domain.eventVerifier.answer(Self.signal(.globalTokenRevocation, broker))
            #expect(try await broker.backchannelAnswer(withCharset)?.status == 204)
            #expect(broker.log.backchannelRequests.last?.string("grant") == "global_token_revocation")
            let ended = #"native_sso_sessions_ended_total{by="global_token_revocation"} 1"#
            #expect(broker.metrics.text.contains(ended + "\n"))
        }
    }

    @Test("An outage is 503 with Retry-After, and the same token succeeds afterwards")
    func outages() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.eventVerifier.answer(Self.signal(.globalTokenRevocation, broker))
            broker.domain.logouts.fail(with: .outage(Outage(.database, "away")))
            for request in [Self.event(), Self.revocation()] {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
                #expect(answer.values("retry-after") == ["1"])
            }
            broker.domain.logouts.fail(with: nil)
            #expect(try await broker.backchannelAnswer(Self.revocation())?.status == 204)
            broker.domain.eventVerifier.answer(.failure(.outage(Outage(.identityProvider, "no key set"))))
            #expect(try await broker.backchannelAnswer(Self.event())?.status == 503)
        }
    }

    @Test("Forged tokens in a flood are not verified, and genuine ones are accepted after it")
    func flood() async throws {
        var options = TestBroker.Options()
        options.requestLimits.logout = RateLimit(2, per: .seconds(20))
        try await TestBroker.run(options) { broker async throws in
            broker.domain.eventVerifier.answer(.failure(.refused(.badSignature)))
            for (request, status) in [(Self.event(), 400), (Self.revocation(), 401)] {
                #expect(try await broker.backchannelAnswer(request)?.status == status)
            }
            broker.domain.eventVerifier.answer(Self.signal(.sessionRevoked, broker))
            for request in [Self.event(), Self.revocation()] {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == 429 && answer.values("retry-after") == ["10"])
            }
            broker.monotonic.advance(by: .seconds(10))
            #expect(try await broker.backchannelAnswer(Self.event())?.status == 202)
            #expect(broker.log.backchannelRequests.last?.string("grant") == "security_event")
            #expect(broker.domain.logouts.records.first?.issuedAt == broker.domain.clock.now.adding(-50))
            #expect(broker.metrics.text.contains(#"native_sso_sessions_ended_total{by="security_event"} 1"# + "\n"))
        }
    }
}
