import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// What attacks leave behind: a line and a row each, in words of our own.
    struct TraceTests {
        @Test func everyRequestLeavesOneLineOfLog() async throws {
            let fixture = try await Fixture.shared
            for attack in Attack.formAttacks where ["F-08", "F-18"].contains(attack.id) {
                for variant in attack.variants {
                    let connection = try await HTTPConnection.open(port: fixture.running.publicPort)
                    try await connection.send(try await variant.message(fixture).octets)
                    let requestID = try #require(try await connection.receive()?["X-Request-Id"])
                    _ = try await fixture.loggedReason(of: requestID)
                }
            }
            var seen: Set<String> = []
            for line in try fixture.running.logText().utf8.split(separator: UInt8(ascii: "\n")) {
                let entry = try #require((try? JSONReader.parse(Array(line)))?.object, "\(line)")
                guard let requestID = entry.string("request_id") else { continue }
                #expect(seen.insert(requestID).inserted, "\(requestID) has two lines")
            }
            #expect(seen.count > 50)
        }

        /// Nothing that a caller wrote is written down, but the name of a client that is registered.
        @Test(arguments: [
            "${jndi:ldap://x}", "<script>", "x' OR '1'='1", "../etc/passwd", "\u{1B}[2J", "app-two\u{301}",
        ])
        func nothingOfTheCallersIsWrittenDown(_ text: String) async throws {
            let fixture = try await Fixture.shared
            for form in try Self.everywhere(text, fixture) {
                let request = HTTPRequest.token(form.parameters, fields: [("X-Forwarded-For", text.asciiOnly)])
                let answer = try await request.send(to: fixture.running.publicPort)
                let requestID = try #require(answer["X-Request-Id"])
                _ = try await fixture.loggedReason(of: requestID)
                if answer.status == 400 { _ = try await fixture.sql.auditedReason(of: requestID) }
            }
            for needle in [text, String(text.dropFirst(1))] { try await expectNoTrace(of: needle, fixture) }
        }

        /// The logs do not contain the user, who is in every id_token. They contain the client, which shows that the
        /// search works.
        @Test func onlyTheClientIsNamed() async throws {
            let fixture = try await Fixture.shared
            var login = fixture.logins.login()
            let user = try #require(login.token.claims.string("sub"))
            #expect(try await fixture.running.token(try fixture.logins.exchange(login)).status == 200)
            login.token.claims["exp"] = .number(JSONNumber(0))
            let refused = try await fixture.running.token(try fixture.logins.exchange(login))
            _ = try await fixture.sql.auditedReason(of: try #require(refused["X-Request-Id"]))
            try await expectNoTrace(of: user, fixture)
            #expect(try !fixture.running.logLines(with: Fixture.target).isEmpty)
            #expect(try await !Self.auditRows(with: Fixture.target, fixture).isEmpty)
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

        private func expectNoTrace(of text: String, _ fixture: Fixture) async throws {
            #expect(try fixture.running.logLines(with: text).isEmpty)
            #expect(try await Self.auditRows(with: text, fixture).isEmpty)
        }

        private static func auditRows(with text: String, _ fixture: Fixture) async throws -> [String] {
            let quoted = text.replacing("'", with: "''")
            return try await fixture.sql.rows(
                "SELECT a::text FROM native_sso.audit_event a WHERE position('\(quoted)' IN a::text) > 0")
        }
    }
}

extension String {
    /// What of it can stand in a header.
    fileprivate var asciiOnly: String { String(decoding: utf8.filter { (0x21...0x7E).contains($0) }, as: UTF8.self) }
}
