import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

extension Abuse {
    /// Refusals that other settings bring about, and those of tokens whose key the identity provider has given up.
    struct SettingTests {
        @Test func eachRefusalHasItsReason() async throws {
            let fixture = try await Fixture.shared
            let silent = try StubIdentityProvider(keys: [fixture.keys.attacker])
            silent.discovery(
                .says(Array(#"{"issuer":"\#(silent.issuer)","jwks_uri":"\#(silent.issuer)/jwks"}"#.utf8)))
            let known = try await fixture.login()
            try await fixture.giveUpKeys()
            let backchannel = try LoopbackPort.free()
            var environment = Fixture.backchannel(at: backchannel)
            environment["NATIVE_SSO_DPOP_NONCE"] = "required"
            try await fixture.installation.withBroker("strict", environment: environment) { configuration in
                configuration.trustedProxies = ["127.0.0.1"]
                for (name, limit) in [("code", "1/1h"), ("network", "2/1h"), ("listener", "60/1h")] {
                    configuration.limits[name] = limit
                }
                configuration.providers[0].events.append("first_sight_requires_unexpired: true")
                configuration.providers[1].events.append("require_unexpired: true")
                configuration.providers[1].enrolsByExchange = true
                configuration.providers[1].codeRelay = "{ timeout: 5s }"
                var provider = BrokerConfiguration.Provider(silent.issuer, profiles: ["device-id"])
                provider.codeRelay = "{ timeout: 5s }"
                configuration.providers.append(provider)
            } body: { broker in
                try await checkProofs(fixture, broker)
                try await checkTokens(of: known, fixture, broker, backchannel)
                try await checkCodes(fixture, broker, silent.issuer)
                try await checkLimits(fixture, broker)
            }
        }

        private func checkProofs(_ fixture: Fixture, _ broker: Broker) async throws {
            for (nonce, reason) in [(nil, "dpop_nonce_missing"), ("x", "dpop_nonce_unknown")] as [(String?, String)] {
                var proof = fixture.proof()
                proof.claims["nonce"] = nonce.map(JSONValue.string)
                let form = try fixture.exchange(by: Fixture.bound)
                let answer = try await HTTPRequest.token(form.parameters, fields: [("DPoP", try proof.signed())])
                    .send(to: broker.publicPort)
                try await expect(answer, 400, "use_dpop_nonce", reason, fixture)
                #expect(answer["DPoP-Nonce"] != nil)
            }
        }

        private func checkTokens(
            of known: Login, _ fixture: Fixture, _ broker: Broker, _ backchannel: UInt16
        ) async throws {
            func expire(_ token: inout IDToken) {
                token.claims["iat"] = .number(JSONNumber(fixture.now - 7200))
                token.claims["exp"] = .number(JSONNumber(fixture.now - 3600))
                token.claims["auth_time"] = nil
            }
            let elsewhere = try await broker.token(try fixture.exchangeAtOtherIssuer(expire))
            try await expect(elsewhere, 400, "invalid_grant", "subject_token_expired", fixture)
            var expired = known
            expire(&expired.token)
            let granted = try await broker.token(try fixture.logins.exchange(expired))
            #expect(granted.status == 200, "\(granted.text)")
            expired = fixture.logins.login()
            expire(&expired.token)
            try await expectRefused(expired, "invalid_grant", "first_sight_token_expired", fixture, broker)

            var unseen = fixture.logins.login()
            unseen.token.sign(with: fixture.keys.retired)
            try await expectRefused(unseen, "invalid_grant", "first_sight_key_not_current", fixture, broker)
            // From before the key's time.
            unseen.token.claims["iat"] = .number(JSONNumber(fixture.now - 7 * 86_400))
            unseen.token.claims["auth_time"] = nil
            try await expectRefused(unseen, "invalid_request", "subject_token_key_retired", fixture, broker)
            unseen.token.sign(with: fixture.keys.revoked)
            try await expectRefused(unseen, "invalid_request", "subject_token_key_revoked", fixture, broker)

            for (key, ofLogout, ofEvent) in [
                (fixture.keys.retired, "logout_token_key_retired", "event_token_key_retired"),
                (fixture.keys.revoked, "logout_token_key_revoked", "event_token_key_revoked"),
            ] {
                var logout = fixture.logins.logout(known)
                var event = fixture.event(SecurityEventType.sessionRevoked, of: known)
                logout.sign(with: key)
                event.sign(with: key)
                let refused = try await broker.logout(logout)
                try await expect(refused, 400, "invalid_request", ofLogout, fixture)
                let ignored = try await HTTPRequest.securityEvent(try event.signed()).send(to: backchannel)
                #expect(ignored.status == 400 && ignored.json?.string("err") == "invalid_key")
                #expect(try await fixture.sql.auditedReason(of: ignored.requestID) == ofEvent)
            }
            // The login lives on.
            try await fixture.expectGranted(try fixture.logins.exchange(known))

            var enrolment = try fixture.logins.exchange(known)
            enrolment["requested_token_type"] = "urn:ietf:params:oauth:token-type:id_token"
            let answer = try await broker.token(enrolment)
            try await expect(answer, 400, "invalid_request", "enrolment_not_enabled", fixture)
        }

        private func checkCodes(_ fixture: Fixture, _ broker: Broker, _ silent: String) async throws {
            func code(at issuer: String, from address: String, scope: String? = nil) async throws -> HTTPAnswer {
                var form = TokenForm([
                    "grant_type": "authorization_code", "client_id": Fixture.atOtherIssuer, "code": Unguessable.make(),
                    "redirect_uri": "https://app.example/cb", "code_verifier": Unguessable.make(), "audience": issuer,
                ])
                form["scope"] = scope
                if scope == nil { form["device_id"] = Unguessable.make() }
                return try await form.send(to: broker, from: address)
            }
            let errors = [
                ("invalid_request", "idp_invalid_request"), ("invalid_scope", "idp_invalid_scope"),
                ("unsupported_grant_type", "idp_unsupported_grant_type"),
            ]
            for (index, (error, reason)) in errors.enumerated() {
                fixture.answerCodes(with: error)
                let answer = try await code(at: fixture.otherIssuer, from: "192.0.2.\(index)")
                try await expect(answer, 400, error, reason, fixture)
            }
            let limited = try await code(at: fixture.otherIssuer, from: "192.0.2.0")
            try await expect(limited, 429, "temporarily_unavailable", "rate_limited_code", fixture)
            let unknown = try await code(at: silent, from: "192.0.2.10")
            try await expect(unknown, 503, "temporarily_unavailable", "idp_token_endpoint_unknown", fixture)
            let other = try await code(at: fixture.otherIssuer, from: "192.0.2.11", scope: "openid device_sso")
            try await expect(other, 400, "invalid_request", "code_profile_not_enabled", fixture)
        }

        private func checkLimits(_ fixture: Fixture, _ broker: Broker) async throws {
            let noise = HTTPRequest("GET", "/nowhere")
            for subnet in 1...2 {
                let answer = try await noise.send(to: broker, from: "2001:db8:5:\(subnet)::1")
                #expect(answer.status == 404)
            }
            let form = try fixture.exchange()
            let beyond = try await form.send(to: broker, from: "2001:db8:5:3::1")
            try await expect(beyond, 429, "temporarily_unavailable", "rate_limited_network", fixture)
            for index in 0..<60 {
                let answer = try await noise.send(to: broker, from: "198.51.100.\(index)")
                #expect([404, 429].contains(answer.status))
            }
            let last = try await form.send(to: broker, from: "203.0.113.1")
            try await expect(last, 429, "temporarily_unavailable", "rate_limited_listener", fixture)
        }

        private func expectRefused(
            _ login: Login, _ error: String, _ reason: String, _ fixture: Fixture, _ broker: Broker
        ) async throws {
            try await expect(try await broker.token(try fixture.logins.exchange(login)), 400, error, reason, fixture)
        }

        private func expect(
            _ answer: HTTPAnswer, _ status: Int, _ error: String, _ reason: String, _ fixture: Fixture
        ) async throws {
            #expect(answer.status == status && answer.error == error, "\(reason): \(answer.text)")
            #expect(answer.keepsContract, "\(reason): \(answer.text)")
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
        }
    }
}

extension LogoutToken {
    fileprivate mutating func sign(with key: TestKey) {
        self.key = key
        header["kid"] = key.keyID.map { .string($0) }
    }
}
