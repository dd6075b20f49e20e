import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// An operator, another user or another app changes something between two requests.
    struct RegistryScenarioTests {
        /// D-23: several apps may exchange one id_token.
        @Test func tenSiblingsUseOneLogin() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            for index in 1...10 {
                var form = try fixture.logins.exchange(login)
                form["client_id"] = "sibling-\(index)"
                let answer = try await fixture.running.token(form)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }

        /// A repeated exchange uses the same row, so retries and a looping app do not grow the table.
        @Test func aRepeatedExchangeAddsNoGrant() async throws {
            let fixture = try await Fixture.shared
            let family = try await fixture.family()
            // The very same, a moment later, would not even go on.
            for scope in ["openid", nil, "openid"] {
                var form = try fixture.logins.exchange(family.login)
                if let scope { form["scope"] = scope }
                #expect(try await fixture.running.token(form).status == 200)
            }
            #expect(try await fixture.state(of: family) == "4|")
        }

        /// V-01: on a shared phone A logs out and B logs in.
        @Test func theNextUserOfAPhone() async throws {
            let fixture = try await Fixture.shared
            let first = try await fixture.family()
            try await fixture.end(first.login)
            let second = fixture.logins.login(device: first.login.device)
            #expect(try await fixture.running.token(try fixture.logins.exchange(second)).status == 200)
            let late = try await fixture.running.token(.refresh(first.refreshToken, client: Fixture.target))
            #expect(late.text == AnswerContract.unusableBody)
        }

        /// V-02: an ended `sid` stays dead for every client and device.
        @Test func aSessionIsNotBornTwice() async throws {
            let fixture = try await Fixture.shared
            let login = try await fixture.login()
            try await fixture.end(login)
            var again = fixture.logins.login()
            again.token.claims["sid"] = login.token.claims["sid"]
            #expect(
                try await fixture.running.token(try fixture.logins.exchange(again)).text == AnswerContract.unusableBody)
        }

        /// V-05: a change of group membership applies at once to exchange and refresh.
        @Test func anAppThatLeavesTheGroup() async throws {
            let fixture = try await Fixture.shared
            var form = try fixture.logins.exchange(try await fixture.login())
            form["client_id"] = "sibling-1"
            let token = try #require(try await fixture.running.token(form).json?.string("refresh_token"))
            try await fixture.move("sibling-1", to: "partner")
            let exchanged = try await fixture.running.token(form)
            let refreshed = try await fixture.running.token(.refresh(token, client: "sibling-1"))
            try await fixture.move("sibling-1", to: "vendor")
            #expect(try await fixture.sql.auditedReason(of: exchanged.requestID) == "group_mismatch")
            #expect(try await fixture.sql.auditedReason(of: refreshed.requestID) == "sharing_ended")
            #expect([exchanged.text, refreshed.text] == [AnswerContract.unusableBody, AnswerContract.unusableBody])
            #expect(try await fixture.running.token(form).status == 200)
        }

        /// V-06: once the broker sees that a client lost a scope, no grant of that client gets it.
        @Test func aScopeThatWasTakenAway() async throws {
            let fixture = try await Fixture.shared
            var form = try fixture.logins.exchange(try await fixture.login())
            form["client_id"] = "sibling-2"
            form["scope"] = "openid orders.read"
            var token = try #require(try await fixture.running.token(form).json?.string("refresh_token"))
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

        /// U-10: the refusal tells the app that it needs a stronger or newer login, and where to get it.
        /// No exchange strengthens a login. The older specifications have no error code for this.
        @Test func aStrongerLogin() async throws {
            let fixture = try await Fixture.shared
            for (acr, age) in [("urn:example:loa1", 70), ("urn:example:loa2", 3700)] {
                for profile in NativeProfile.allCases {
                    var form = try fixture.exchange(profile) { token in
                        token.claims["acr"] = .string(acr)
                        token.claims["auth_time"] = .number(JSONNumber(fixture.now - Int64(age)))
                        token.claims["iat"] = .number(JSONNumber(fixture.now - 60))
                    }
                    form["client_id"] = Fixture.strict
                    let before = try await fixture.digest()
                    let answer = try await fixture.running.token(form)
                    #expect(try await fixture.digest() == before)
                    #expect(
                        try await fixture.sql.auditedReason(of: answer.requestID) == "assurance_insufficient")
                    guard profile == .deviceSecret else {
                        #expect(answer.text == AnswerContract.unusableBody)
                        continue
                    }
                    let json = try #require(answer.json)
                    #expect(answer.status == 400 && json.string("error") == "interaction_required")
                    #expect(json.string("acr_values") == "urn:example:loa2")
                    #expect(json.number("max_age")?.int64 == 3600)
                    #expect(
                        json.string("authorization_uri")
                            == "\(fixture.issuer)/authorize?response_type=code&client_id=\(Fixture.strict)"
                            + "&scope=openid+profile&acr_values=urn%3Aexample%3Aloa2&max_age=3600")
                }
            }
        }

        /// The same for an existing family: it ends when its login is too old for the app.
        @Test func aFamilyOfAnAgedLogin() async throws {
            let fixture = try await Fixture.shared
            var login = fixture.logins.login()
            login.token.claims["acr"] = .string("urn:example:loa2")
            login.token.claims["auth_time"] = .number(JSONNumber(fixture.now - 3500))
            var form = try fixture.logins.exchange(login, .deviceSecret)
            form["client_id"] = Fixture.strict
            let answer = try await fixture.running.token(form)
            let life = try #require(answer.json?.number("expires_in")?.int64, "\(answer.text)")
            #expect((1...101).contains(life))
            let rest = try await fixture.sql.row(
                """
                SELECT extract(epoch FROM g.expires_at - now())::integer BETWEEN 1 AND 101
                FROM native_sso.sso_grant g JOIN native_sso.session USING (session_id) WHERE sid = sha256('\(login.sid)')
                """)
            #expect(rest == "t")
        }

        /// M-01, M-02: no request makes the metrics larger, and they name no user.
        @Test func metricsDoNotGrow() async throws {
            let fixture = try await Fixture.shared
            func lines() async throws -> [Substring] {
                try await HTTPRequest("GET", "/metrics").send(to: fixture.running.internalPort).text.split(
                    separator: "\n")
            }
            _ = try await fixture.family()
            let before = try await lines()
            for index in 0..<50 {
                _ = try await HTTPRequest("GET", "/x\(index)").send(to: fixture.running.publicPort)
                var form = try fixture.exchange { $0.header["kid"] = .string("kid-\(index)") }
                _ = try await fixture.running.token(form)
                form["client_id"] = "client-\(index)"
                _ = try await fixture.running.token(form)
            }
            let after = try await lines()
            #expect(after.count == before.count)
            #expect(!after.contains { $0.contains("user-") || $0.contains(Fixture.target) || $0.contains("client-1") })
        }

        /// J-08, K-04: the broker never fetches a URL named in a token.
        @Test func noAddressInATokenIsFollowed() async throws {
            let fixture = try await Fixture.shared
            let address = fixture.trap.issuer + "/jwks"
            let forms =
                try ["jku", "x5u"].map { name in
                    try fixture.exchange { token in
                        token.sign(with: fixture.keys.attacker)
                        token.header[name] = .string(address)
                    }
                } + [fixture.exchange { $0.claims["iss"] = .string(fixture.trap.issuer) }]
            for form in forms {
                let answer = try await fixture.running.token(form)
                #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.text)")
            }
            #expect(fixture.trap.jwksRequests == 0)
        }
    }
}
