import BrokerHarness
import PrivateCluster
import StrictCoding
import Testing

extension Faults {
    /// An app's end of its grant at one of several brokers, in a race, and while the database is away.
    @Suite struct RevocationTests {
        /// Told to one broker, it holds at the other from the answer on. Repeated, it is 200 again.
        @Test func aRevocationHoldsAtEveryBroker() async throws {
            let fixture = try await FaultFixture.shared
            try await withBackchannel("revoking", fixture) { broker, port in
                let family = try await fixture.logins.family(at: fixture.broker)
                for _ in 0..<2 { #expect(try await revoke(family.refreshToken, at: port).status == 200) }
                for broker in [fixture.broker, broker] {
                    let answer = try await broker.token(fixture.logins.refresh(family.refreshToken))
                    #expect(answer.error == "invalid_grant", "\(answer.text)")
                }
                // The login lives on.
                #expect(try await fixture.broker.token(try fixture.logins.exchange(family.login)).status == 200)
                // Another client's token ends nothing.
                let other = try await fixture.logins.family(at: fixture.broker)
                let refused = try await revoke(other.refreshToken, client: "app-one", at: port)
                #expect(refused.status == 400 && refused.error == "invalid_grant")
                #expect(try await broker.token(fixture.logins.refresh(other.refreshToken)).status == 200)
                // Nothing else is there, and the public listener knows nothing of it.
                #expect(try await HTTPRequest("GET", "/metrics").send(to: port).status == 404)
                #expect(try await revoke(other.refreshToken, at: broker.publicPort).status == 404)
            }
        }

        /// Whoever has read a device_id signs nothing out with it, also not by calling it a device_secret.
        @Test func aDeviceIDAloneEndsNothing() async throws {
            let fixture = try await FaultFixture.shared
            try await withBackchannel("device-id", fixture) { _, port in
                let family = try await fixture.logins.family(at: fixture.broker)
                let alone = try await revoke(family.login.device, [("token_type_hint", "device_secret")], at: port)
                #expect(alone.status == 200, "\(alone.text)")
                let alive = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
                let next = try #require(alive.refreshToken, "\(alone.text)")
                // Beside a refresh token of the device it does.
                #expect(try await revoke(next, [("device_id", family.login.device)], at: port).status == 200)
                let over = try await fixture.broker.token(try fixture.logins.exchange(family.login))
                #expect(over.error == "invalid_grant", "\(over.text)")
            }
        }

        /// A refresh and the revocation of its token, at once: what was given before the answer is dead after it.
        @Test func aRefreshWhileTheAppRevokes() async throws {
            let fixture = try await FaultFixture.shared
            try await withBackchannel("racing", fixture) { _, port in
                for _ in 0..<5 {
                    let family = try await fixture.logins.family(at: fixture.broker)
                    async let first = fixture.broker.token(fixture.logins.refresh(family.refreshToken))
                    #expect(try await revoke(family.refreshToken, at: port).status == 200)
                    let answer = try await first
                    #expect(answer.status == 200 || answer.error == "invalid_grant", "\(answer.text)")
                    for token in [answer.refreshToken, family.refreshToken].compactMap(\.self) {
                        let later = try await fixture.broker.token(fixture.logins.refresh(token))
                        #expect(later.error == "invalid_grant", "\(later.text)")
                    }
                }
            }
        }

        /// Never a 200 for what is not committed; and the same request is good when the database is back.
        @Test func aRevocationWithoutADatabase() async throws {
            let fixture = try await FaultFixture.shared
            try await withBackchannel("without-database", fixture) { _, port in
                let family = try await fixture.logins.family(at: fixture.broker)
                try await fixture.cluster.kill9()
                let answer = try await revoke(family.refreshToken, at: port)
                #expect(answer.isOutage, "\(answer.status) \(answer.text)")
                try await fixture.cluster.restart()
                _ = try await eventually("the revocation is taken") {
                    try await revoke(family.refreshToken, at: port).status == 200 ? true : nil
                }
                let refreshed = try await fixture.broker.settledToken(fixture.logins.refresh(family.refreshToken))
                #expect(refreshed.error == "invalid_grant", "\(refreshed.text)")
            }
        }

        /// An API of the token's audience sees it alive, and no longer once the app has revoked its grant.
        @Test func anAPILearnsOfTheEnd() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            let refreshed = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            let (token, refreshToken) = (try #require(refreshed.accessToken), try #require(refreshed.refreshToken))
            let audience = try #require(try UnverifiedToken.claims(of: token).string("aud"))
            try await fixture.installation.command(
                "client", "add", "api", "--authentication", "client_secret_basic", "--audience", audience,
                "--introspects", audience)
            let secret = try await fixture.installation.rotateSecret(of: "api")
            try await withBackchannel("introspecting", fixture) { _, port in
                let request = HTTPRequest.token(
                    [("token", token)], to: "/introspect", fields: [HTTPRequest.basic("api", secret)])
                let live = try await request.send(to: port)
                #expect(live.json?.bool("active") == true, "\(live.status) \(live.text)")
                #expect(live.json?.string("client_id") == "app-two")
                #expect(try await revoke(refreshToken, at: port).status == 200)
                #expect(try await request.send(to: port).text == #"{"active":false}"#)
            }
        }

        private func withBackchannel(
            _ name: String, _ fixture: FaultFixture, _ body: (Broker, UInt16) async throws -> Void
        ) async throws {
            let port = try LoopbackPort.free()
            let environment = [
                "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(port)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
                "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true",
            ]
            try await fixture.installation.withBroker(name, environment: environment) { try await body($0, port) }
        }

        private func revoke(
            _ token: String, _ more: [(String, String)] = [], client: String = "app-two", at port: UInt16
        ) async throws -> HTTPAnswer {
            try await HTTPRequest.token([("client_id", client), ("token", token)] + more, to: "/revoke").send(to: port)
        }
    }
}
