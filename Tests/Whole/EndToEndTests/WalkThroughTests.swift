import StrictCoding
import BrokerHarness
import Testing

/// Two apps at the development IdP and a broker, as `native-sso-dev up` starts them.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WalkThroughTests {
    /// K-26: the operator ends the session: both apps are out at their next request.
    @Test func theEndOfASessionIsTheEndOfBothApps() async throws {
        let run = try await Development.shared
        let login = try await run.logIn(.deviceID)
        var families: [(app: String, token: String)] = []
        for app in [Development.source, Development.target] {
            let answer = try await run.token(run.exchange(login, .deviceID, client: app))
            families.append((app, try #require(answer.refreshToken, "\(answer.text)")))
        }
        let sid = try #require(UnverifiedToken.claims(of: login.idToken).string("sid"))
        let ended = try await run.development.command(
            "session", "end", "--issuer", try run.development.text("identity_provider.issuer"), "--sid", sid,
            "--reason", "lost phone", "--execute")
        #expect(ended.status == 0, "\(ended.output)")
        for (app, token) in families {
            #expect(try await run.token(.refresh(token, client: app)).error == "invalid_grant")
        }
        #expect(try await run.token(run.exchange(login, .deviceID)).error == "invalid_grant")
    }
}
