import BrokerTesting
import NativeSSO
import RegistryConformance
import StrictCoding
import Testing

@testable import BrokerHTTP

/// What an endpoint answers while the broker does not know enough for a final answer.
@Suite("Answers without certainty", .timeLimit(.minutes(1)))
struct CertaintyTests {
    private static let apart = Outage(.database, "clocks_apart: by ten minutes")
    private static let unconfirmed = Outage(.database, "no confirmed commit")

    private static func options(clocks: Outage? = nil, database: Outage? = nil) -> TestBroker.Options {
        var options = TestBroker.Options()
        options.certainty = Certainty(clocks: { clocks }, database: { database })
        return options
    }

    private static func presented(_ token: String, to path: String) -> String {
        Requests.post([("token", token), ("client_id", "app-two")]).replacing("POST /token ", with: "POST \(path) ")
    }

    private static let wrongDevice = Requests.changed(
        Requests.exchange, [("actor_token", "another-device-0123456789abcdef")])

    @Test func `while the clocks are apart, every endpoint that judges by time answers 503 and does nothing`()
        async throws
    {
        try await TestBroker.run(Self.options(clocks: Self.apart)) { broker async throws in
            for parameters in [Requests.exchange, Self.wrongDevice, Requests.refresh("nsr1.x")] {
                let answer = try #require(try await broker.answer(parameters))
                #expect(answer.status == 503 && answer.error == "temporarily_unavailable")
                #expect(broker.log.requests.last?.string("reason") == "database: clocks_apart: by ten minutes")
            }
            for request in [
                Self.presented("nsr1.x", to: "/revoke"), Self.presented("x", to: "/introspect"),
                Requests.post(
                    "a.b.c", target: "/security-events", contentType: "application/secevent+jwt", headers: []),
                Requests.post(
                    "{}", target: "/global-token-revocation", contentType: "application/json",
                    headers: ["Authorization: Bearer a.b.c"]),
            ] {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == 503 && answer.values("retry-after") == ["1"], "\(answer.text)")
            }
            let logout = try #require(
                try await broker.internalAnswer(
                    Requests.post([("logout_token", "eyJ.e30.c2ln")])
                        .replacing("POST /token ", with: "POST /backchannel-logout ")))
            #expect(logout.status == 400 && logout.error == "temporarily_unavailable")
            #expect(broker.domain.registry.admissions.isEmpty && broker.domain.registry.rotations.isEmpty)
            #expect(broker.domain.revocations.calls.isEmpty && broker.domain.logouts.records.isEmpty)
            #expect(broker.domain.audit.events.isEmpty)
        }
    }

    @Test func `a database that confirms nothing refuses no one for what it holds, and grants go on`() async throws {
        try await TestBroker.run(Self.options(database: Self.unconfirmed)) { broker async throws in
            #expect(try await broker.answer(Requests.exchange)?.status == 200)
            for parameters in [Self.wrongDevice, Requests.refresh("nsr1.x")] {
                let answer = try #require(try await broker.answer(parameters))
                #expect(answer.status == 503 && answer.error == "temporarily_unavailable", "\(answer.text)")
            }
            // What the request itself shows is refused all the same.
            let malformed = try #require(
                try await broker.answer(Requests.changed(Requests.exchange, [("scope", "\"")])))
            #expect(malformed.status == 400)
            let inactive = try #require(try await broker.backchannelAnswer(Self.presented("x", to: "/introspect")))
            #expect(inactive.status == 503)
            #expect(broker.domain.audit.events.count == 1)
        }
    }

    @Test func `what a caller can choose counts apart, and says when it may be decided`() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.directory.fail(
                with: .outage(Outage(.keyModule, "a key is not known yet", isUndecided: true, retryAfter: 25)))
            let answer = try #require(try await broker.answer(Requests.exchange))
            #expect(answer.status == 503 && answer.values("retry-after") == ["25"])
            #expect(broker.log.requests.last?.string("outcome") == "undecided")
            let count = { (outcome: String) in
                broker.metrics.text.contains(
                    #"native_sso_requests_total{grant="token_exchange",outcome="\#(outcome)"} 1"# + "\n")
            }
            #expect(count("undecided") && !count("unavailable"))
        }
    }
}
