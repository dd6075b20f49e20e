import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// Bad polls for ended sessions, in clear and over HTTP/2: nothing changes, and a good poll is served afterwards.
    struct PollScenarioTests {
        struct Bend: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let verdict: Verdict
            let bend: @Sendable (inout HTTPRequest, Fixture) throws -> Void

            init(
                _ name: String, _ verdict: Verdict,
                _ bend: @escaping @Sendable (inout HTTPRequest, Fixture) throws -> Void
            ) {
                (testDescription, self.verdict, self.bend) = (name, verdict, bend)
            }
        }

        private static let http: [Bend] = [
            Bend("GET", .refused(status: 405, error: "invalid_request", reason: "http_method")) { request, _ in
                request.method = "GET"
                request.body = []
            },
            Bend("a form", .malformed("http_json_content_type")) { request, _ in
                request.fields[0].value = "application/x-www-form-urlencoded"
            },
            Bend("no type", .malformed("http_json_content_type")) { request, _ in request.fields.remove(at: 0) },
            Bend("two types", .malformed("http_json_content_type")) { request, _ in
                request.fields.append(request.fields[0])
            },
            Bend("compressed", .malformed("http_content_encoding")) { request, _ in
                request.fields.append(("Content-Encoding", "gzip"))
            },
            Bend("a query", .malformed("http_query")) { request, _ in request.target += "?ack=x" },
            Bend("a path behind it", .refused(status: 404, error: "invalid_request", reason: "http_unknown_path")) {
                request, _ in request.target += "/x"
            },
        ]

        private static let bodies = [
            "", " ", "{", "[]", "null", "\u{feff}{}", "{}{}", #"{"ack":[],"ack":[]}"#, #"{"ack":"x"}"#, #"{"ack":[1]}"#,
            #"{"ack":[null]}"#, #"{"maxEvents":-1}"#, #"{"maxEvents":1e400}"#, #"{"maxEvents":99999999999999999999}"#,
            #"{"returnImmediately":"true"}"#, #"{"setErrs":{"a":1}}"#, #"{"receiver":"\u0000"}"#, #"{"receiver":"é"}"#,
            #"{"ack":["\ud800"]}"#, String(repeating: #"{"a":"#, count: 2000),
            #"{"ack":[\#(Array(repeating: "\"x\"", count: 2000).joined(separator: ","))]}"#,
        ].map { body in
            Bend("body \(body.prefix(40))", .malformed("event_poll_malformed")) { request, _ in
                request.body = Array(body.utf8)
            }
        }

        private static let clients: [Bend] = [
            Bend("nobody", .client("client_missing")) { request, _ in request.fields.remove(at: 1) },
            Bend("a wrong secret", .challenged("client_authentication_failed")) { request, _ in
                request.fields[1] = HTTPRequest.basic(Fixture.confidential, "wrong")
            },
            Bend("an unknown client", .challenged("client_unknown")) { request, _ in
                request.fields[1] = HTTPRequest.basic("nobody", "x")
            },
            Bend("a public client", .challenged("client_method_mismatch")) { request, _ in
                request.fields[1] = HTTPRequest.basic(Fixture.target, "x")
            },
            Bend("two headers", .malformed("http_authorization_repeated")) { request, _ in
                request.fields.append(request.fields[1])
            },
            Bend(
                "a client that introspects nothing",
                .refused(status: 400, error: "unauthorized_client", reason: "event_poll_not_allowed")
            ) {
                request, fixture in
                request.fields[1].value = "Bearer \(try fixture.assertion().signed())"
            },
            Bend("an assertion for another", .client("client_assertion_aud")) { request, fixture in
                var assertion = fixture.assertion()
                assertion.claims["aud"] = .string("https://other.example")
                request.fields[1].value = "Bearer \(try assertion.signed())"
            },
            Bend("an access token as assertion", .client("client_assertion_malformed")) { request, _ in
                request.fields[1].value = "Bearer x.y.z"
            },
        ]

        @Test(arguments: http + bodies + clients) func bad(_ bend: Bend) async throws {
            let fixture = try await Fixture.shared
            try await Self.allowPolling(fixture)
            let good = try await Self.poll(fixture)
            #expect(good.status == 200, "\(good.text)")
            guard case .refused(let status, let error, let reason) = bend.verdict else { return }
            var request = Self.request(fixture)
            try bend.bend(&request, fixture)
            // An assertion that is good is used up.
            let before = try await Self.digest(fixture)
            let answer = try await request.send(to: fixture.backchannel.port)
            #expect(answer.status == status && answer.error == error, "\(answer.text)")
            let requestID = try #require(answer["X-Request-Id"])
            #expect(try await fixture.loggedReason(of: requestID) == reason)
            #expect(try await Self.digest(fixture) == before)
            #expect(try await Self.poll(fixture).status == 200)
        }

        /// What one resource server acknowledges, another one still gets; and an end that is not its own stays unknown.
        @Test func anAcknowledgementIsOfOneReceiver() async throws {
            let fixture = try await Fixture.shared
            try await Self.allowPolling(fixture)
            let family = try await fixture.family()
            #expect(try await fixture.running.logout(fixture.logins.logout(family.login)).status == 200)
            let sets = try await Self.poll(fixture).json?.object("sets")
            let names = try #require(sets?.names)
            #expect(!names.isEmpty)
            let list = names.map { "\"\($0)\"" }.joined(separator: ",")
            let other = try await Self.poll(fixture, #"{"receiver":"other","ack":[\#(list)],"returnImmediately":true}"#)
            #expect(other.json?.object("sets")?.isEmpty == true)
            #expect(try await Self.poll(fixture).json?.object("sets")?.names == names)
        }

        private static func request(
            _ fixture: Fixture, _ body: String = #"{"returnImmediately":true}"#
        ) -> HTTPRequest {
            HTTPRequest(
                "POST", "/events",
                fields: [
                    ("Content-Type", "application/json"), HTTPRequest.basic(Fixture.confidential, fixture.secret),
                ], body: Array(body.utf8))
        }

        private static func poll(
            _ fixture: Fixture, _ body: String = #"{"returnImmediately":true}"#
        ) async throws -> HTTPAnswer {
            try await request(fixture, body).send(to: fixture.backchannel.port)
        }

        private static func digest(_ fixture: Fixture) async throws -> String {
            try await fixture.sql.row(
                "SELECT md5(string_agg(r::text, '' ORDER BY r.client_id, r.receiver)) FROM native_sso.event_receiver r")
        }

        /// Brokers read the registration within a moment.
        private static func allowPolling(_ fixture: Fixture) async throws {
            try await fixture.sql.rows(
                """
                UPDATE native_sso.client c SET introspects = t.audiences FROM native_sso.client t
                WHERE c.client_id = '\(Fixture.confidential)' AND t.client_id = '\(Fixture.target)' AND c.introspects = '{}'
                """)
            _ = try await eventually("the client may poll") {
                try await poll(fixture).status == 200 ? true : nil
            }
        }
    }
}
