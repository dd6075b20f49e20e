import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import BrokerHarness
import Testing

/// Two IdPs at one broker, with apps of their own. The same name or `kid` at both means two different things. A fault
/// of one does not affect the other.
@Suite(.timeLimit(.minutes(5))) struct SeveralProvidersTests {
    private struct Side {
        let provider: StubIdentityProvider
        let logins: LoginFactory
    }

    private func side(_ algorithm: SignatureAlgorithm, _ apps: String) throws -> Side {
        // The same kid at both.
        let key = try TestKey(algorithm, keyID: "key")
        let provider = try StubIdentityProvider(keys: [key])
        return Side(
            provider: provider,
            logins: LoginFactory(
                issuer: provider.issuer, key: key, source: "\(apps)-one", target: "\(apps)-two"))
    }

    /// A login with the same `sub` and `sid` at either.
    private func twin(_ side: Side, device: String) -> Login {
        var login = side.logins.login(device: device)
        login.token.claims["sub"] = .string("user-7")
        login.token.claims["sid"] = .string("sid-7-\(device)")
        return login
    }

    @Test func nothingCrosses() async throws {
        let (a, b) = (try side(.es256, "a"), try side(.rs256, "b"))
        var providers = [
            BrokerConfiguration.Provider(a.provider.issuer, profiles: ["device-id"], algorithms: ["ES256"]),
            BrokerConfiguration.Provider(b.provider.issuer, profiles: ["device-id"], algorithms: ["RS256"]),
        ]
        providers[0].audienceAliases = ["api://default"]
        let installation = try await Installation(
            BrokerConfiguration(issuer: "https://sso.example.test", providers: providers),
            on: try await PrivateCluster.shared)
        let sql = try installation.session()
        for (side, group) in [(a, "vendor-a"), (b, "vendor-b")] {
            for app in [side.logins.source, side.logins.target] {
                try await sql.register(app, in: .init(group: group, issuer: side.provider.issuer))
            }
        }
        let broker = try await installation.startBroker().ready()

        // Groups never span issuers: neither the registry nor the database lets one.
        let crossing = try await installation.run(["group", "add", "vendor-a", "--issuer", b.provider.issuer])
        #expect(crossing.status == 1, "\(crossing.output)")
        await #expect(throws: SQLSession.Failure.self) {
            try await installation.session().rows(
                """
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role)
                VALUES ('vendor-a', '\(b.provider.issuer)', 'b-one', 'both')
                """)
        }

        let device = Unguessable.make()
        let (mine, yours) = (twin(a, device: device), twin(b, device: device))
        var aliased = try a.logins.exchange(mine)
        aliased["audience"] = "api://default"
        let first = try await broker.token(aliased)
        #expect(first.status == 200, "\(first.text)")
        let second = try await broker.token(try b.logins.exchange(yours))
        #expect(second.status == 200, "\(second.text)")

        // A's login at B's apps, under either audience; and A's claims under B's name, by A's key and by B's algorithm.
        for audience in [a.provider.issuer, b.provider.issuer] {
            let form = TokenForm.exchange(
                try mine.token.signed(), issuer: audience, device: device, profile: .deviceID,
                client: b.logins.target)
            let answer = try await broker.token(form)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.error == (audience == a.provider.issuer ? "invalid_grant" : "invalid_request"))
        }
        var forged = yours
        forged.token.key = a.logins.key
        forged.token.header = a.logins.key.header()
        #expect(try await broker.token(try b.logins.exchange(forged)).error == "invalid_request")
        // The alias is A's alone.
        var wrong = try b.logins.exchange(yours)
        wrong["audience"] = "api://default"
        #expect(try await broker.token(wrong).error == "invalid_request")

        // B's logout, by the same sub and by the same sid, is none of A's.
        let refreshA = try #require(first.refreshToken)
        for token in [b.logins.logout(yours), b.logins.logoutEverywhere(yours)] {
            #expect(try await broker.logout(token).status == 200)
        }
        #expect(try await broker.token(b.logins.refresh(try #require(second.refreshToken))).error == "invalid_grant")
        let refreshed = try await broker.token(a.logins.refresh(refreshA))
        #expect(refreshed.status == 200, "\(refreshed.text)")

        // B is gone before a new broker starts: that one cannot judge B's logins, and A's apps notice nothing.
        b.provider.stop()
        let lonely = try installation.startBroker("lonely")
        _ = try await eventually("A's apps are served") {
            let answer = try? await lonely.token(try a.logins.exchange(a.logins.login()))
            return answer?.status == 200 ? true : nil
        }
        let out = try await lonely.token(try b.logins.exchange(b.logins.login()))
        #expect(out.isOutage, "\(out.status) \(out.text)")
        // OpenID Connect Back-Channel Logout 1.0 §2.8 knows 400 alone.
        let logout = try await lonely.logout(b.logins.logout(b.logins.login()))
        #expect(logout.status == 400 && logout.error == "temporarily_unavailable", "\(logout.text)")
        // Who has B's keys from before goes on with them.
        #expect(try await broker.token(try b.logins.exchange(b.logins.login())).status == 200)
        for broker in [broker, lonely] { await broker.process.terminate() }
    }
}
