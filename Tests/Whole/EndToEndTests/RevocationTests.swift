import BrokerHarness
import StrictCoding
import Testing

extension Faults {
    /// What an app's end of its grant needs, and what APIs see of it.
    struct RevocationTests {
        /// An API of the token's audience sees it alive, and no longer once the app has revoked its grant. A reader of a
        /// device_id signs nothing out with it, also not by calling it a device_secret.
        @Test func anAPILearnsOfTheEndAndADeviceIDAloneEndsNothing() async throws {
            let fixture = try await FaultFixture.shared
            let family = try await fixture.logins.family(at: fixture.broker)
            let refreshed = try await fixture.broker.token(fixture.logins.refresh(family.refreshToken))
            let (token, refreshToken) = (try #require(refreshed.accessToken), try #require(refreshed.refreshToken))
            let audience = try #require(try UnverifiedToken.claims(of: token).string("aud"))
            try await fixture.installation.command(
                "client", "add", "api", "--authentication", "client_secret_basic", "--audience", audience,
                "--introspects", audience)
            let secret = try await fixture.installation.rotateSecret(of: "api")
            try await fixture.installation.withBackchannel("introspecting") { _, port in
                let request = HTTPRequest.token(
                    [("token", token)], to: "/introspect", fields: [HTTPRequest.basic("api", secret)])
                let live = try await request.send(to: port)
                #expect(live.json?.bool("active") == true, "\(live.status) \(live.text)")
                #expect(live.json?.string("client_id") == "app-two")
                #expect(try await revoke(refreshToken, at: port).status == 200)
                #expect(try await request.send(to: port).text == #"{"active":false}"#)

                let other = try await fixture.logins.family(at: fixture.broker)
                let alone = try await revoke(other.login.device, [("token_type_hint", "device_secret")], at: port)
                #expect(alone.status == 200, "\(alone.text)")
                let alive = try await fixture.broker.token(fixture.logins.refresh(other.refreshToken))
                let next = try #require(alive.refreshToken, "\(alive.text)")
                // Beside a refresh token of the device it does.
                #expect(try await revoke(next, [("device_id", other.login.device)], at: port).status == 200)
                let over = try await fixture.broker.token(try fixture.logins.exchange(other.login))
                #expect(over.error == "invalid_grant", "\(over.text)")
            }
        }
    }
}
