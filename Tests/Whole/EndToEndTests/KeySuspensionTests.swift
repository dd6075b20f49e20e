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

    private func execute(_ fixture: Fixture, _ verb: String, _ use: String) async throws {
        try await fixture.installation.command(
            "key", verb, "--use", use, "--execute", "--reason", "alarm")
    }

    @Test(arguments: ["access-token", "refresh-token"])
    func aSuspendedKeyIssuesNothingAndNothingIsWritten(use: String) async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let signer = try await SignerProcess(installation)
        try await installation.withBroker("with-files") { files in
            try await installation.withBroker("with-signer", { $0.signer = signer.socket }) { signed in
                try await suspend(
                    use,
                    Fixture(
                        installation: installation, logins: logins, brokers: [files, signed],
                        sql: try installation.session()))
            }
        }
    }

    private func suspend(_ use: String, _ fixture: Fixture) async throws {
        var families: [TokenFamily] = []
        for broker in fixture.brokers { families.append(try await fixture.logins.family(at: broker)) }
        let revoked = try await fixture.logins.family(at: fixture.brokers[0])
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

        // A broker that starts now obeys too. A revocation goes on: tags that are presented are still checked.
        try await fixture.installation.withBackchannel("later") { broker, port in
            let answer = try await broker.token(fixture.logins.refresh(families[0].refreshToken))
            #expect(answer.isOutage, "\(answer.text)")
            let end = try await revoke(revoked.refreshToken, at: port)
            #expect(end.status == 200, "\(end.text)")
        }
        let ended = "SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL"
        #expect(try await fixture.sql.row(ended) == "1")
        try await execute(fixture, "resume", use)
        try await fixture.untilSuspended(0)
        for (broker, family) in zip(fixture.brokers, families) {
            #expect(try await broker.token(fixture.logins.refresh(family.refreshToken)).status == 200)
            #expect(try await broker.token(try fixture.logins.exchange(family.login)).status == 200)
        }
    }
}
