import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import Testing

/// `key suspend`, on two brokers at once: one has the key files, one a signer.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct KeySuspensionTests {
    private struct Fixture {
        let installation: Installation
        let logins: LoginFactory
        let brokers: [Broker]
        let sql: SQLSession

        /// Everything that a request could write but the audit.
        func rows() async throws -> String {
            try await sql.row(
                """
                SELECT (SELECT jsonb_agg(to_jsonb(g) ORDER BY grant_id) FROM native_sso.sso_grant g),
                    (SELECT jsonb_agg(to_jsonb(s) ORDER BY session_id) FROM native_sso.session s),
                    (SELECT jsonb_agg(to_jsonb(k) - 'suspended_at' ORDER BY kid) FROM native_sso.signing_key k)
                """)
        }

        func untilSuspended(_ count: Int) async throws {
            for broker in brokers {
                _ = try await eventually("the broker knows it") {
                    try await broker.get("/metrics").text.contains("native_sso_keys_suspended \(count)\n") ? true : nil
                }
            }
        }
    }

    private func withBrokers(_ body: (Fixture) async throws -> Void) async throws {
        let (installation, logins) = try await FaultFixture.install()
        let signer = try await SignerProcess(installation)
        try await installation.withBroker("with-files") { files in
            try await installation.withBroker("with-signer", { $0.signer = signer.socket }) { signed in
                try await body(
                    Fixture(
                        installation: installation, logins: logins, brokers: [files, signed],
                        sql: try installation.session()))
            }
        }
    }

    private func execute(_ fixture: Fixture, _ verb: String, _ use: String) async throws {
        try await fixture.installation.command(
            "key", verb, "--use", use, "--execute", "--reason", "alarm")
    }

    @Test(arguments: ["access-token", "refresh-token"])
    func aSuspendedKeyIssuesNothingAndNothingIsWritten(use: String) async throws {
        try await withBrokers { fixture in
            var families: [TokenFamily] = []
            for broker in fixture.brokers { families.append(try await fixture.logins.family(at: broker)) }
            let enrolled = try fixture.logins.exchange(fixture.logins.login())
            try await execute(fixture, "suspend", use)
            try await fixture.untilSuspended(1)
            let before = try await fixture.rows()
            for (broker, family) in zip(fixture.brokers, families) {
                for form in [
                    fixture.logins.refresh(family.refreshToken), try fixture.logins.exchange(family.login), enrolled,
                ] {
                    let answer = try await broker.token(form)
                    #expect(answer.isOutage, "\(answer.text)")
                }
                // What only verifies goes on, and no load balancer takes the broker out.
                let keys = try JSONWebKeySet(
                    document: Array(try await broker.get("/.well-known/jwks.json").text.utf8))
                _ = try CompactJWS(family.accessToken).verified(by: keys, allowing: [.es256])
                #expect(try await broker.readiness() == 200)
                #expect(try await broker.process.errorLine(containing: "is suspended; to let it sign") != nil)
            }
            #expect(try await fixture.rows() == before)

            // A broker that starts now obeys too.
            try await fixture.installation.withBroker("later") { broker in
                let answer = try await broker.token(fixture.logins.refresh(families[0].refreshToken))
                #expect(answer.isOutage, "\(answer.text)")
            }
            try await execute(fixture, "resume", use)
            try await fixture.untilSuspended(0)
            for (broker, family) in zip(fixture.brokers, families) {
                #expect(try await broker.token(fixture.logins.refresh(family.refreshToken)).status == 200)
                #expect(try await broker.token(try fixture.logins.exchange(family.login)).status == 200)
            }
        }
    }

    /// The tags of refresh tokens that are presented are still checked.
    @Test func aRevocationGoesOn() async throws {
        try await withBrokers { fixture in
            let family = try await fixture.logins.family(at: fixture.brokers[0])
            for use in ["access-token", "refresh-token"] { try await execute(fixture, "suspend", use) }
            let port = try LoopbackPort.free()
            let environment = [
                "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(port)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
                "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true",
            ]
            try await fixture.installation.withBroker("revoking", environment: environment) { _ in
                let answer = try await HTTPRequest.token(
                    [("client_id", fixture.logins.target), ("token", family.refreshToken)], to: "/revoke"
                ).send(to: port)
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(
                try await fixture.sql.row("SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL")
                    == "1")
        }
    }
}
