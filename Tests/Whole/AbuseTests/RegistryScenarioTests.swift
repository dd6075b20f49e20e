import BrokerHarness
import StrictCoding
import Testing

extension Abuse {
    /// An operator, another user or another app changes something between two requests.
    struct RegistryScenarioTests {
        /// V-01, V-02: on a shared phone A logs out and B logs in. A's `sid` stays dead for every client and device.
        @Test func theNextUserOfAPhone() async throws {
            let fixture = try await Fixture.shared
            let first = try await fixture.family()
            try await fixture.end(first.login)
            try await fixture.expectGranted(
                try fixture.logins.exchange(fixture.logins.login(device: first.login.device)))
            try await fixture.expectUnusable(fixture.logins.refresh(first.refreshToken), "session_ended")
            var again = fixture.login(ofUserOf: first.login)
            again.token.claims["sid"] = first.login.token.claims["sid"]
            let answer = try await fixture.running.token(try fixture.logins.exchange(again))
            #expect(answer.text == AnswerContract.unusableBody)
        }

        /// V-05: a change of group membership applies at once to exchange and refresh.
        @Test func anAppThatLeavesTheGroup() async throws {
            let fixture = try await Fixture.shared
            var form = try fixture.logins.exchange(try await fixture.login())
            form["client_id"] = "sibling-1"
            let token = try await fixture.expectGranted(form)
            try await fixture.move("sibling-1", to: "partner")
            let exchanged = try await fixture.running.token(form)
            let refreshed = try await fixture.running.token(.refresh(token, client: "sibling-1"))
            try await fixture.move("sibling-1", to: "vendor")
            try await fixture.expectUnusable(exchanged, "group_mismatch")
            try await fixture.expectUnusable(refreshed, "sharing_ended")
            try await fixture.expectGranted(form)
        }

        /// V-06: once the broker sees that a client lost a scope, no grant of that client gets it.
        @Test func aScopeThatWasTakenAway() async throws {
            let fixture = try await Fixture.shared
            var form = try fixture.logins.exchange(try await fixture.login())
            form["client_id"] = "sibling-2"
            form["scope"] = "openid orders.read"
            var token = try await fixture.expectGranted(form)
            try await fixture.sql.rows(
                """
                UPDATE native_sso.client SET allowed_scope = array_remove(allowed_scope, 'orders.read')
                WHERE client_id = 'sibling-2'
                """)
            let scope = try await eventually("the broker has heard of it") {
                let answer = try await fixture.running.token(.refresh(token, client: "sibling-2"))
                token = try #require(answer.json?.string("refresh_token"), "\(answer.text)")
                let scope = answer.json?.string("scope") ?? ""
                return scope.contains("orders.read") ? nil : scope
            }
            #expect(scope == "openid")
            var wide = TokenForm.refresh(token, client: "sibling-2")
            wide["scope"] = "openid orders.read"
            #expect(try await fixture.running.token(wide).error == "invalid_scope")
        }

        /// U-10: the refusal tells the app that it needs a stronger or newer login, and where to get it. The older
        /// specifications have no error code for this: K-24.
        @Test func aStrongerLogin() async throws {
            let fixture = try await Fixture.shared
            for (acr, age) in [("urn:example:loa1", 70), ("urn:example:loa2", 3700)] {
                var form = try fixture.exchange(.deviceSecret) { token in
                    token.claims["acr"] = .string(acr)
                    token.claims["auth_time"] = .number(JSONNumber(fixture.now - Int64(age)))
                }
                form["client_id"] = Fixture.strict
                let json = try #require(try await fixture.running.token(form).json)
                #expect(json.string("error") == "interaction_required")
                #expect(json.string("acr_values") == "urn:example:loa2")
                #expect(json.number("max_age")?.int64 == 3600)
                #expect(
                    json.string("authorization_uri")
                        == "\(fixture.issuer)/authorize?response_type=code&client_id=\(Fixture.strict)"
                        + "&scope=openid+profile&acr_values=urn%3Aexample%3Aloa2&max_age=3600")
            }
        }

        /// No access token outlives the age at which its login is too old for the app.
        @Test func aTokenOfAnAgedLogin() async throws {
            let fixture = try await Fixture.shared
            var form = try fixture.exchange(.deviceSecret) { token in
                token.claims["acr"] = .string("urn:example:loa2")
                token.claims["auth_time"] = .number(JSONNumber(fixture.now - 3500))
            }
            form["client_id"] = Fixture.strict
            let answer = try await fixture.running.token(form)
            let life = try #require(answer.json?.number("expires_in")?.int64, "\(answer.text)")
            #expect((1...101).contains(life))
        }

        /// M-01, M-02: no request makes the metrics larger, and they name no user.
        @Test func metricsDoNotGrow() async throws {
            let fixture = try await Fixture.shared
            func lines() async throws -> [Substring] {
                try await fixture.running.get("/metrics").text.split(separator: "\n")
            }
            _ = try await fixture.family()
            let before = try await lines()
            for index in 0..<10 {
                let answer = try await HTTPRequest("GET", "/x\(index)").send(to: fixture.running.publicPort)
                #expect(answer.status == 404)
                var form = try fixture.exchange { $0.header["kid"] = .string("kid-\(index)") }
                let unknown = try await fixture.running.token(form)
                #expect(unknown.error == "invalid_request" || unknown.isUndecided)
                form["client_id"] = "client-\(index)"
                #expect(try await fixture.running.token(form).error == "invalid_client")
            }
            let after = try await lines()
            #expect(after.count == before.count)
            #expect(!after.contains { $0.contains("user-") || $0.contains(Fixture.target) || $0.contains("client-1") })
        }

        /// J-08, K-04: the broker never fetches a URL named in a token.
        @Test func noAddressInATokenIsFollowed() async throws {
            let fixture = try await Fixture.shared
            let form = try fixture.exchange { $0.claims["iss"] = .string(fixture.trap.issuer) }
            let answer = try await fixture.running.token(form)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.text)")
            #expect(fixture.trap.requests == 0)
        }
    }
}
