import Glibc
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Two IdP processes at one broker, each with its own profile, algorithm and hash mode. A fault of one does not affect
/// the other's apps.
@Suite(.timeLimit(.minutes(5))) struct SeparateProvidersTests {
    private struct Fixture {
        let a: DevelopmentProvider
        let b: DevelopmentProvider
        let installation: Installation
        let broker: Broker

        init() async throws {
            a = try DevelopmentProvider(algorithm: "ES256", hashMode: "left_half", apps: ["a-one", "a-two"])
            b = try DevelopmentProvider(algorithm: "RS256", hashMode: "full_sha256_hex", apps: ["b-one", "b-two"])
            var providers = [
                BrokerConfiguration.Provider(a.issuer, profiles: ["device-id"], algorithms: ["ES256"]),
                BrokerConfiguration.Provider(b.issuer, profiles: ["device-secret"], algorithms: ["RS256"]),
            ]
            providers[1].hashMode = "full_sha256_hex"
            for index in providers.indices { providers[index].codeRelay = "{ timeout: 2s, at_once: 4 }" }
            installation = try await Installation(
                BrokerConfiguration(issuer: "https://sso.example.test", providers: providers),
                on: try await PrivateCluster.shared)
            let sql = try installation.session()
            for (provider, group) in [(a, "a"), (b, "b")] {
                for app in ["\(group)-one", "\(group)-two"] {
                    try await sql.register(app, in: .init(group: "vendor-\(group)", issuer: provider.issuer))
                }
            }
            broker = try installation.startBroker()
            for provider in [a, b] { try await provider.start(tellingLogoutsTo: broker.internalPort) }
            try await broker.untilReady()
        }

        func exchange(
            _ login: BrowserLogin.Outcome, _ profile: NativeProfile, at issuer: String, client: String
        ) -> TokenForm {
            .exchange(login.idToken, issuer: issuer, device: login.device, profile: profile, client: client)
        }

        /// A code request for the broker, with a code of `app` at its provider.
        func code(of app: String, at provider: DevelopmentProvider, _ profile: NativeProfile) async throws -> TokenForm
        {
            let verifier = Unguessable.make()
            let code = try await provider.login(for: app).code(.deviceID, verifier)
            return request(code, verifier, of: app, at: provider, profile)
        }

        func request(
            _ code: String, _ verifier: String, of app: String, at provider: DevelopmentProvider,
            _ profile: NativeProfile
        ) -> TokenForm {
            var form = TokenForm([
                "grant_type": "authorization_code", "client_id": app, "code": code, "code_verifier": verifier,
                "redirect_uri": DevelopmentProvider.redirectURI, "audience": provider.issuer,
            ])
            if profile == .deviceID {
                form["device_id"] = Unguessable.make()
            } else {
                form["scope"] = "openid device_sso"
            }
            return form
        }

        /// Why it was refused, as the audit has it.
        func reason(_ answer: HTTPAnswer) async throws -> String {
            try await installation.session().auditedReason(of: answer.requestID)
        }

        /// All that an app of A's does.
        func aIsServed(_ refreshToken: inout String) async throws {
            let refreshed = try await broker.token(.refresh(refreshToken, client: "a-two"))
            refreshToken = try #require(refreshed.refreshToken, "\(refreshed.text)")
            let enrolled = try await broker.token(try await code(of: "a-one", at: a, .deviceID))
            #expect(enrolled.status == 200, "\(enrolled.text)")
            let login = try await a.login(for: "a-one").run(.deviceID)
            let exchanged = try await broker.token(exchange(login, .deviceID, at: a.issuer, client: "a-two"))
            #expect(exchanged.status == 200, "\(exchanged.text)")
        }
    }

    @Test func eachOnItsOwn() async throws {
        let fixture = try await Fixture()
        let (a, b, broker) = (fixture.a, fixture.b, fixture.broker)
        let mine = try await a.login(for: "a-one").run(.deviceID)
        let yours = try await b.login(for: "b-one").run(.deviceSecret)
        // The same person by name and `sub`, and nothing else in common.
        let (myClaims, yourClaims) = try (
            UnverifiedToken.claims(of: mine.idToken), UnverifiedToken.claims(of: yours.idToken)
        )
        #expect(myClaims.string("sub") == yourClaims.string("sub"))
        #expect(myClaims.string("di_hash")?.utf8.count == 22 && yourClaims.string("ds_hash")?.utf8.count == 64)
        let first = try await broker.token(fixture.exchange(mine, .deviceID, at: a.issuer, client: "a-two"))
        var myRefresh = try #require(first.refreshToken, "\(first.text)")
        let second = try await broker.token(fixture.exchange(yours, .deviceSecret, at: b.issuer, client: "b-two"))
        let yourRefresh = try #require(second.refreshToken, "\(second.text)")

        // Groups never span issuers, and neither does a profile.
        let crossings = [
            (fixture.exchange(mine, .deviceID, at: a.issuer, client: "b-two"), "invalid_grant", "client_not_in_group"),
            (
                fixture.exchange(yours, .deviceSecret, at: b.issuer, client: "a-two"), "invalid_grant",
                "client_not_in_group"
            ),
            (
                fixture.exchange(mine, .deviceSecret, at: a.issuer, client: "a-two"), "invalid_request",
                "profile_not_enabled"
            ),
            (
                fixture.exchange(yours, .deviceSecret, at: a.issuer, client: "b-two"), "invalid_request",
                "profile_not_enabled"
            ),
            (
                fixture.exchange(mine, .deviceSecret, at: b.issuer, client: "b-two"), "invalid_request",
                "subject_token_iss"
            ),
        ]
        for (form, error, reason) in crossings {
            let answer = try await broker.token(form)
            #expect(answer.status == 400 && answer.error == error, "\(answer.text)")
            #expect(try await fixture.reason(answer) == reason)
        }

        // The user logs out at B, and B says so itself: A's login of the same `sub` lives.
        let page = try await HTTPRequest("GET", "/logout?id_token_hint=\(yours.idToken)").send(to: b.port)
        #expect(page.status == 200, "\(page.text)")
        #expect(try await broker.token(.refresh(yourRefresh, client: "b-two")).error == "invalid_grant")
        try await fixture.aIsServed(&myRefresh)

        // B is frozen: its codes fill its own places, and a broker that starts now cannot judge its logins.
        let survivor = try await b.login(for: "b-one").run(.deviceSecret)
        let held = try await fixture.code(of: "b-one", at: b, .deviceSecret)
        b.signal(SIGSTOP)
        let hanging = (0..<4).map { number in
            let form =
                number == 0
                ? held : fixture.request("c\(number)", Unguessable.make(), of: "b-one", at: b, .deviceSecret)
            return Task { try await broker.token(form) }
        }
        try await fixture.aIsServed(&myRefresh)
        for task in hanging { #expect(try await task.value.isOutage) }
        // Who has B's keys from before goes on with its logins.
        let known = try await broker.token(fixture.exchange(survivor, .deviceSecret, at: b.issuer, client: "b-two"))
        #expect(known.status == 200, "\(known.text)")
        let late = try fixture.installation.startBroker("late")
        _ = try await eventually("A's apps are served by a broker that never heard of B") { () -> Bool? in
            let answer = try? await late.token(.refresh(myRefresh, client: "a-two"))
            guard answer?.status == 200, let next = answer?.refreshToken else { return nil }
            myRefresh = next
            return true
        }
        let unknown = try await late.token(fixture.exchange(survivor, .deviceSecret, at: b.issuer, client: "b-two"))
        #expect(unknown.isOutage, "\(unknown.text)")

        // And killed.
        b.signal(SIGKILL)
        b.signal(SIGCONT)
        let unreachable = try await eventually("nobody listens") { () -> HTTPAnswer? in
            let answer = try await broker.token(
                fixture.request("gone-\(Unguessable.make())", Unguessable.make(), of: "b-one", at: b, .deviceSecret))
            return try await fixture.reason(answer) == "idp_unreachable" ? answer : nil
        }
        #expect(unreachable.isOutage)
        try await fixture.aIsServed(&myRefresh)
        for broker in [broker, late] { await broker.process.terminate() }
    }
}
