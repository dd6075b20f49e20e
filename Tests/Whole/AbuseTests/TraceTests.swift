import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// What requests leave behind, in words of our own.
    struct TraceTests {
        /// Nothing that a caller wrote is written down, but the name of a client that is registered.
        @Test func nothingOfTheCallersIsWrittenDown() async throws {
            let fixture = try await Fixture.shared
            let traces = try Traces(fixture)
            let texts = [
                "${jndi:ldap://x}", "<script>", "x' OR '1'='1", "../etc/passwd", "\u{1B}[2J", "app-two\u{301}",
            ]
            var requestIDs: [String] = []
            var refused: [String] = []
            for text in texts {
                for form in try Self.everywhere(text, fixture) {
                    let request = HTTPRequest.token(form.parameters, fields: [("X-Forwarded-For", text.asciiOnly)])
                    let answer = try await request.send(to: fixture.running.publicPort)
                    requestIDs.append(answer.requestID)
                    if answer.status == 400 { refused.append(answer.requestID) }
                }
            }
            let reasons = try await fixture.auditedReasons(of: refused)
            #expect(!reasons.values.contains(""))
            _ = try await eventually("all requests are logged") {
                Set(requestIDs).isSubset(of: try traces.lines().map(\.requestID)) ? true : nil
            }
            let written = try await traces.text(ofRequests: requestIDs, fixture)
            for text in texts {
                for needle in [text, String(text.dropFirst(1))] { #expect(!written.utf8.contains(needle.utf8)) }
            }
        }

        /// Logs and audit do not contain the user, who is in every id_token. They contain the client, which shows that
        /// the search works.
        @Test func onlyTheClientIsNamed() async throws {
            let fixture = try await Fixture.shared
            let traces = try Traces(fixture)
            var login = fixture.logins.login()
            let user = try #require(login.token.claims.string("sub"))
            let granted = try await fixture.running.token(try fixture.logins.exchange(login))
            #expect(granted.status == 200, "\(granted.text)")
            login.token.claims["exp"] = .number(JSONNumber(0))
            let refused = try await fixture.running.token(try fixture.logins.exchange(login))
            #expect(try await fixture.sql.auditedReason(of: refused.requestID) == "subject_token_exp")
            let written = try await traces.text(ofRequests: [granted.requestID, refused.requestID], fixture)
            #expect(!written.contains(user) && written.contains(Fixture.target))
        }

        /// A request for each place in which a text of the caller's can stand.
        private static func everywhere(_ text: String, _ fixture: Fixture) throws -> [TokenForm] {
            let parameters =
                try fixture.exchange().parameters.map(\.name) + ["scope", "made_up", "requested_token_type"]
            let exchanges = try parameters.map { name in
                var form = try fixture.exchange()
                form[name] = text
                return form
            }
            let claims = try ["sub", "sid", "aud", "acr", "iss"].map { name in
                try fixture.exchange { $0.claims[name] = .string(text) }
            }
            return exchanges + claims + [
                .refresh(text, client: Fixture.target), .refresh("nsr1." + text, client: text),
            ]
        }
    }
}

extension String {
    /// What of it can stand in a header.
    fileprivate var asciiOnly: String { String(decoding: utf8.filter { (0x21...0x7E).contains($0) }, as: UTF8.self) }
}
