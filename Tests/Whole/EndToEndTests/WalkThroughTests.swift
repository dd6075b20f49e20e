import Foundation
import Glibc
import JOSE
import StrictCoding
import BrokerHarness
import Testing

/// Everything together, as `native-sso-dev up` starts it: a person logs in once, and two apps are logged in.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WalkThroughTests {
    @Test(arguments: NativeProfile.allCases) func oneLoginForTwoApps(_ profile: NativeProfile) async throws {
        let run = try await Development.shared
        let login = try await run.logIn(profile)
        let exchanged = try await run.token(run.exchange(login, profile))
        #expect(exchanged.status == 200, "\(exchanged.text)")
        #expect(exchanged.keepsContract)
        let answer = try #require(exchanged.json)
        #expect(answer.string("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token")
        #expect(answer.string("token_type") == "Bearer")
        #expect(answer.number("expires_in")?.int64 == 300)
        #expect(answer.string("scope") == "openid profile api:serverA api:serverB")
        for name in ["id_token", "device_secret"] { #expect(!answer.contains(name)) }

        let access = try #require(exchanged.accessToken)
        let claims = try await run.verifiedClaims(of: access)
        let idToken = try UnverifiedToken.claims(of: login.idToken)
        for name in ["sub", "auth_time", "acr", "amr"] { #expect(claims[name] == idToken[name], "\(name)") }
        #expect(claims.string("iss") == run.brokerIssuer)
        #expect(claims.strings("aud") == ["https://api-a.example.test", "https://api-b.example.test"])
        #expect(claims.string("client_id") == Development.target)
        #expect(claims.string("scope") == "openid profile api:serverA api:serverB")
        #expect(!claims.contains("act") && claims.string("jti") != nil)

        for index in [0, 1] {
            #expect(try await run.callServer(index, with: access) == 200)
            #expect(try await run.callServer(index, with: login.idToken) == 401)
            // A token for one API is refused by the other.
            var form = try run.exchange(login, profile)
            form["resource"] = try run.server(index).string("audience")
            let narrow = try #require(try await run.token(form).accessToken)
            #expect(try await run.callServer(index, with: narrow) == 200)
            #expect(try await run.callServer(1 - index, with: narrow) == 401)
        }
        let refreshed = try await run.token(.refresh(try #require(exchanged.refreshToken), client: Development.target))
        #expect(refreshed.status == 200, "\(refreshed.text)")
        #expect(refreshed.refreshToken != exchanged.refreshToken && refreshed.accessToken != exchanged.accessToken)
        #expect(refreshed.json?.string("scope") == "openid profile api:serverA api:serverB")
    }

    /// K-26: the operator ends the session: both apps are out at their next request.
    @Test func theEndOfASessionIsTheEndOfBothApps() async throws {
        let run = try await Development.shared
        let login = try await run.logIn(.deviceID)
        let families = try await [Development.source, Development.target].asyncMap { app in
            let answer = try await run.token(run.exchange(login, .deviceID, client: app))
            return (app, try #require(answer.refreshToken, "\(answer.text)"))
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

    /// The user logs out at the identity provider, which tells the broker: both apps are out at their next request.
    @Test func aLogoutAtTheIdentityProviderIsTheEndOfBothApps() async throws {
        let run = try await Development.shared
        let login = try await run.logIn(.deviceID)
        let families = try await [Development.source, Development.target].asyncMap { app in
            let answer = try await run.token(run.exchange(login, .deviceID, client: app))
            return (app, try #require(answer.refreshToken, "\(answer.text)"))
        }
        let page = try await HTTPRequest("GET", "/logout?id_token_hint=\(login.idToken)").send(
            to: try run.development.port("identity_provider.issuer"))
        #expect(page.status == 200, "\(page.text)")
        for (app, token) in families {
            #expect(try await run.token(.refresh(token, client: app)).error == "invalid_grant")
        }
        #expect(try await run.token(run.exchange(login, .deviceID)).error == "invalid_grant")
    }

    /// Whether a login of an app outside the vendor's group is of any use to it.
    @Test func anAppOfAnotherVendorGetsNothing() async throws {
        let run = try await Development.shared
        let login = try await run.logIn(.deviceSecret)
        let answer = try await run.token(run.exchange(login, .deviceSecret, client: "app-three"))
        #expect(answer.status == 400 && answer.error == "invalid_grant", "\(answer.text)")
    }

    /// The IdP's process is frozen: existing logins go on.
    @Test func anIdentityProviderThatIsFrozen() async throws {
        let run = try await Development.shared
        let login = try await run.logIn(.deviceID)
        #expect(try await run.token(run.exchange(login, .deviceID)).status == 200)
        let provider = try run.development.pid(of: "identity_provider")
        kill(provider, SIGSTOP)
        defer { kill(provider, SIGCONT) }
        let exchanged = try await run.token(run.exchange(login, .deviceID))
        #expect(exchanged.status == 200, "\(exchanged.text)")
        let refreshed = try await run.token(.refresh(try #require(exchanged.refreshToken), client: Development.target))
        #expect(refreshed.status == 200, "\(refreshed.text)")
    }

    /// A login that has become too old for an app, the login that the answer asks for, and its own id_token exchanged.
    @Test func aLoginThatIsAskedFor() async throws {
        let run = try await Development.shared
        let demanded = try await run.development.command(
            "client", "update", Development.target, "--max-auth-age", "10s", "--min-acr", "urn:example:acr:password",
            "--execute", "--reason", "test")
        #expect(demanded.status == 0 && !demanded.output.contains("warning: app-two"), "\(demanded.output)")
        let login = try await run.logIn(.deviceSecret)
        // The change is in use soon, and the login is soon too old.
        let refused = try await eventually("a login is too old", within: .seconds(60), every: .seconds(1)) {
            let answer = try await run.token(run.exchange(login, .deviceSecret))
            return answer.status == 200 ? nil : answer
        }
        let answer = try #require(refused.json)
        #expect(answer.string("error") == "interaction_required", "\(refused.text)")
        let uri = try #require(URLComponents(string: answer.string("authorization_uri") ?? "")?.queryItems)
        let demands = ["acr_values", "max_age"].compactMap { name in
            uri.first { $0.name == name }?.value.map { (name: name, value: $0) }
        }
        #expect(demands.map(\.value) == ["urn:example:acr:password", "10"])
        let renewed = try await run.logIn(.deviceSecret, client: Development.target, demands: demands)
        let exchanged = try await run.token(run.exchange(renewed, .deviceSecret))
        #expect(exchanged.status == 200, "\(exchanged.text)")
        let withdrawn = try await run.development.command(
            "client", "update", Development.target, "--no-max-auth-age", "--no-min-acr", "--execute", "--reason", "test"
        )
        #expect(withdrawn.status == 0, "\(withdrawn.output)")
        // The tests that follow have logins as old as they like.
        _ = try await eventually("any login is enough", within: .seconds(60), every: .seconds(1)) {
            try await run.token(run.exchange(login, .deviceSecret)).status == 200 ? true : nil
        }
    }

    @Test func theInternalListenerSaysHowItIs() async throws {
        let run = try await Development.shared
        let port = try run.development.port("broker.internal")
        #expect(try await HTTPRequest("GET", "/livez").send(to: port).status == 200)
        let readiness = try await HTTPRequest("GET", "/readyz").send(to: port)
        #expect(readiness.status == 200 && readiness.failedChecks.isEmpty, "\(readiness.text)")
        let metrics = try await HTTPRequest("GET", "/metrics").send(to: port)
        #expect(metrics.status == 200 && metrics.text.contains("# TYPE "))
        let metadata = try #require(
            try await HTTPRequest("GET", "/.well-known/oauth-authorization-server?x=y").send(to: port).json)
        #expect(metadata.string("issuer") == run.brokerIssuer)
        for path in ["/token", "/", "/metrics/"] {
            #expect(try await HTTPRequest("GET", path).send(to: port).status == 404)
        }
        #expect(try await HTTPRequest("POST", "/livez").send(to: port).status == 405)
    }
}
