import BrokerTesting
import NativeSSO
import StrictCoding
import Testing

@testable import BrokerHTTP

@Suite("POST /events", .timeLimit(.minutes(1)))
struct EventPollingTests {
    private static let session = UniqueID(high: 7, low: 9)
    private static let secret = "the secret of the API"

    private static func request(
        _ body: String, as client: String = "api", type: String = "application/json", fields: [String] = [],
        method: String = "POST", path: String = "/events"
    ) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: sso.example.com", "Content-Type: \(type)"]
        lines += [Requests.basic("\(client):\(secret)"), "Content-Length: \(body.utf8.count)"] + fields
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    private static func poll(
        _ body: String, as client: String = "api", at broker: TestBroker
    ) async throws -> RawAnswer {
        broker.domain.directory.put(
            ClientCredentials(secrets: [ClientSecretDigest(of: secret)]), of: ClientID(validated: client))
        return try #require(try await broker.backchannelAnswer(request(body, as: client)))
    }

    private static func sets(_ answer: RawAnswer) throws -> JSONObject {
        let json = try #require(try JSONReader.parse(Array(answer.text.utf8)).object)
        return try #require(json.object("sets"))
    }

    @Test("An end is a signed event, and comes again until it is acknowledged")
    func anEnd() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.ends.end(Self.session, reason: "app")
            for _ in 0..<2 {
                let answer = try await Self.poll(#"{"receiver":"one"}"#, at: broker)
                #expect(answer.status == 200 && answer.values("content-type") == ["application/json"])
                let sets = try Self.sets(answer)
                #expect(sets.names == [Self.session.description])
                let parts = try #require(sets.string(Self.session.description)).split(separator: ".")
                    .map { try #require(Base64URL.decode(Array($0.utf8))) }
                #expect(try JSONReader.parse(parts[0]).object?.string("typ") == "secevent+jwt")
                let claims = try #require(try JSONReader.parse(parts[1]).object)
                #expect(claims.string("iss") == "https://sso.example.com")
                #expect(claims.string("jti") == Self.session.description && claims.string("aud") == "api")
                #expect(claims.number("iat")?.int64 == broker.domain.clock.now.seconds)
                #expect(claims["exp"] == nil && claims["sub"] == nil)
                #expect(claims.object("sub_id")?.string("id") == Self.session.description)
                #expect(claims.object("sub_id")?.string("format") == "opaque")
                let event = claims.object("events")?.object(
                    "https://schemas.openid.net/secevent/caep/event-type/session-revoked")
                #expect(event?.number("event_timestamp")?.int64 == 1_795_000_000)
                #expect(event?.string("initiating_entity") == "user")
            }
            let body = #"{"receiver":"one","ack":["\#(Self.session)","no such jti"],"returnImmediately":true}"#
            #expect(try Self.sets(try await Self.poll(body, at: broker)).isEmpty)
            #expect(broker.domain.ends.polls.map(\.receiver) == ["one", "one", "one"])
            #expect(broker.log.backchannelRequests.last?.string("grant") == "event_poll")
        }
    }

    @Test("maxEvents limits the answer, and setErrs is counted and ends the redelivery")
    func limits() async throws {
        try await TestBroker.run { broker async throws in
            for low in 1...3 { broker.domain.ends.end(UniqueID(high: 7, low: UInt64(low))) }
            let two = try await Self.poll(#"{"maxEvents":2}"#, at: broker)
            #expect(try Self.sets(two).count == 2 && two.text.contains(#""moreAvailable":true"#))
            let none = try await Self.poll(#"{"maxEvents":0}"#, at: broker)
            #expect(try Self.sets(none).isEmpty && none.text.contains(#""moreAvailable":true"#))
            let errors = #"{"setErrs":{"\#(UniqueID(high: 7, low: 1))":{"err":"invalid_key","description":"x"}}}"#
            let rest = try await Self.poll(errors, at: broker)
            #expect(try Self.sets(rest).count == 2 && rest.text.contains(#""moreAvailable":false"#))
            #expect(broker.metrics.text.contains("native_sso_events_unread_total 1"))
        }
    }

    @Test("A poll waits for an end")
    func waits() async throws {
        try await TestBroker.run { broker async throws in
            async let answer = Self.poll("{}", at: broker)
            for await _ in broker.domain.ends.polled.stream { break }
            broker.domain.ends.end(Self.session)
            #expect(try Self.sets(try await answer).names == [Self.session.description])
        }
    }

    @Test("An outage is 503")
    func outage() async throws {
        try await TestBroker.run { broker async throws in
            broker.domain.ends.fail(with: .outage(Outage(.database, "away")))
            #expect(try await Self.poll("{}", at: broker).status == 503)
        }
    }

    @Test(
        "Bodies that are none",
        arguments: [
            "", "[]", "null", "x", #"{"maxEvents":"1"}"#, #"{"maxEvents":-1}"#, #"{"maxEvents":1.5}"#,
            #"{"maxEvents":null}"#, #"{"returnImmediately":1}"#, #"{"ack":{}}"#, #"{"ack":[1]}"#, #"{"setErrs":[]}"#,
            #"{"setErrs":{"a":"b"}}"#, #"{"receiver":""}"#, #"{"receiver":"a b"}"#, #"{"ack":[],"ack":[]}"#,
            #"{"receiver":"\#(String(repeating: "a", count: 65))"}"#,
        ])
    func malformed(body: String) async throws {
        try await TestBroker.run { broker async throws in
            let answer = try await Self.poll(body, at: broker)
            #expect(answer.status == 400 && answer.error == "invalid_request")
            #expect(broker.log.backchannelRequests.last?.string("reason") == "event_poll_malformed")
            #expect(broker.domain.ends.polls.isEmpty)
        }
    }

    @Test("Requests that are none")
    func refused() async throws {
        try await TestBroker.run { broker async throws in
            _ = try await Self.poll(#"{"returnImmediately":true}"#, at: broker)
            let requests: [(String, Int, String)] = [
                (Self.request("{}", method: "GET"), 405, "http_method"),
                (Self.request("{}", type: "application/x-www-form-urlencoded"), 400, "http_json_content_type"),
                (Self.request("{}", type: "application/jsonx"), 400, "http_json_content_type"),
                (Self.request("{}", fields: ["Content-Encoding: gzip"]), 400, "http_content_encoding"),
                (Self.request("{}", path: "/events?x=1"), 400, "http_query"),
                (Self.request("{}", path: "/events/"), 404, "http_unknown_path"),
            ]
            for (request, status, reason) in requests {
                let answer = try #require(try await broker.backchannelAnswer(request))
                #expect(answer.status == status, "\(reason)")
                #expect(broker.log.backchannelRequests.last?.string("reason") == reason)
            }
            let server = try await Self.poll("{}", as: "server", at: broker)
            #expect(server.status == 400 && server.error == "unauthorized_client")
            #expect(broker.log.backchannelRequests.last?.string("reason") == "event_poll_not_allowed")
            let wrong = Self.request("{}").replacing(
                Requests.basic("api:\(Self.secret)"), with: Requests.basic("api:wrong"))
            let refused = try #require(try await broker.backchannelAnswer(wrong))
            #expect(refused.status == 401 && refused.error == "invalid_client")
            let anonymous =
                "POST /events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            let missing = try #require(try await broker.backchannelAnswer(anonymous))
            #expect(missing.error == "invalid_client")
            #expect(broker.domain.ends.polls.count == 1)
        }
    }
}
