import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

/// Identity providers without usable keys, beside a sound one at the same broker, which is never ready.
@Suite(.timeLimit(.minutes(5))) struct KeySetTests {
    /// W-01 to W-15, K-03: an outage for the users of such a provider alone. The broker follows no redirect, and says who
    /// is missing. A login of a disabled provider is refused.
    @Test func isAnOutageForItsOwnUsersAlone() async throws {
        let key = try TestKey(.es256, keyID: "key")
        func provider() throws -> StubIdentityProvider { try StubIdentityProvider(keys: [key]) }
        let (sound, disabled, trap) = (try provider(), try provider(), try provider())
        let (stopped, page, redirecting) = (try provider(), try provider(), try provider())
        let (withoutUse, misnamed) = (try provider(), try provider())
        stopped.stop()
        page.jwks(.says(Array("<html></html>".utf8)))
        redirecting.jwks(.redirects(to: trap.issuer + "/jwks"))
        var entry = key.publicKey.json
        entry["use"] = .string("enc")
        withoutUse.jwks(.says(JSONObject(["keys": .array([.object(entry)])]).octets))
        let keys = misnamed.issuer + "/jwks"
        misnamed.discovery(.says(JSONObject(["issuer": .string(trap.issuer), "jwks_uri": .string(keys)]).octets))
        let unsound = [stopped, page, redirecting, withoutUse, misnamed]

        let configuration = BrokerConfiguration(
            issuer: "https://sso.example.test",
            providers: ([sound, disabled] + unsound).map {
                BrokerConfiguration.Provider($0.issuer, isDisabled: $0.issuer == disabled.issuer)
            })
        let installation = try await Installation(configuration, on: try await PrivateCluster.shared)
        let sql = try installation.session()
        for client in ["one", "two"] { try await sql.register(client, in: nil) }
        for (index, provider) in configuration.providers.enumerated() {
            try await sql.rows("INSERT INTO native_sso.sharing_group VALUES ('group-\(index)', '\(provider.issuer)')")
            try await sql.rows(
                """
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                SELECT 'group-\(index)', '\(provider.issuer)', client_id, 'both' FROM native_sso.client
                """)
        }
        let broker = try installation.startBroker()
        try await broker.untilAlive()
        func exchange(at provider: StubIdentityProvider) async throws -> HTTPAnswer {
            let logins = LoginFactory(issuer: provider.issuer, key: key, source: "one", target: "two")
            return try await broker.token(try logins.exchange(logins.login()))
        }
        _ = try await eventually("the sound provider's keys are known") {
            try await exchange(at: sound).status == 200 ? true : nil
        }
        for provider in unsound {
            let answer = try await exchange(at: provider)
            #expect(answer.status == 503 && answer.error == "temporarily_unavailable", "\(answer.text)")
            #expect(answer.keepsContract)
            #expect(try await exchange(at: sound).status == 200)
        }
        #expect(redirecting.jwksRequests > 0 && trap.requests == 0)
        let readiness = try await broker.get("/readyz")
        #expect(readiness.status == 503)
        for provider in unsound { #expect(readiness.text.contains(provider.issuer)) }
        let refused = try await exchange(at: disabled)
        #expect(refused.status == 400 && refused.error == "invalid_request", "\(refused.text)")
        #expect(try await sql.auditedReason(of: refused.requestID) == "idp_disabled")
        try await broker.stop()
    }
}
