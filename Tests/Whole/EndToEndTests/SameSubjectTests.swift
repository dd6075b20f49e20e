import BrokerHarness
import BrokerTesting
import JOSE
import PrivateCluster
import StrictCoding
import Testing

/// Two IdPs that both call a user `alice`. For an API these are two users, in every token that the broker signs. A fault of
/// one does not affect the other's apps.
@Suite(.timeLimit(.minutes(5))) struct SameSubjectTests {
    private struct Side {
        let provider: StubIdentityProvider
        let logins: LoginFactory
        let name: String

        init(_ apps: String, name: String) throws {
            let key = try TestKey(.es256, keyID: "key")
            provider = try StubIdentityProvider(keys: [key])
            logins = LoginFactory(issuer: provider.issuer, key: key, source: "\(apps)-one", target: "\(apps)-two")
            self.name = name
        }

        func login(_ subject: String = "alice") -> Login {
            var login = logins.login()
            login.token.claims["sub"] = .string(subject)
            return login
        }

        /// The same as an IdP without Native SSO issues it, and its exchange for an id_token of the broker.
        func enrolment(_ login: Login) throws -> TokenForm {
            var token = login.token
            for name in ["di_hash", "ds_hash", "sid"] { token.claims[name] = nil }
            return .enrolment(
                try token.signed(), issuer: logins.issuer, device: login.device, profile: .deviceID,
                client: logins.source)
        }

        /// The IdP's answer to a code.
        func answer() throws -> String {
            #"{"access_token":"idp-access","token_type":"bearer","id_token":"\#(try login().token.signed())"}"#
        }

        func code(device: String = Unguessable.make()) -> TokenForm {
            .code(device: device, profile: .deviceID, client: logins.source)
        }
    }

    private struct Fixture {
        static let issuer = "https://sso.example.test"
        let (a, b): (Side, Side)
        let installation: Installation
        let broker: Broker

        init() async throws {
            (a, b) = (try Side("a", name: "alice"), try Side("b", name: "partner|alice"))
            var providers = [a, b].map { BrokerConfiguration.Provider($0.provider.issuer, profiles: ["device-id"]) }
            providers[1].subjectPrefix = "partner|"
            for index in providers.indices {
                providers[index].enrolsByExchange = true
                providers[index].codeRelay = "{ timeout: 2s, at_once: 4 }"
            }
            installation = try await Installation(
                BrokerConfiguration(issuer: Self.issuer, providers: providers), on: try await PrivateCluster.shared)
            let sql = try installation.session()
            for side in [a, b] {
                for app in [side.logins.source, side.logins.target] {
                    let membership = ClientRow.Membership(
                        group: "of-\(side.logins.target)", issuer: side.provider.issuer)
                    try await sql.register(app, in: membership) { $0.issuesIDToken = true }
                }
            }
            broker = try await installation.startBroker().ready()
        }

        /// Reason, cause and remedy of a refusal.
        func explanation(_ answer: HTTPAnswer) async throws -> String {
            try await eventually("the audit knows") {
                let outcome = try await installation.run(["explain", answer.requestID])
                return outcome.status == 0 ? outcome.output : nil
            }
        }

        func exchange(_ idToken: String, at issuer: String, _ device: String, _ client: String) async throws
            -> HTTPAnswer
        {
            try await broker.settledToken(
                .exchange(idToken, issuer: issuer, device: device, profile: .deviceID, client: client))
        }
    }

    private func expect(
        _ token: String?, names side: Side, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let claims = try UnverifiedToken.claims(of: try #require(token, sourceLocation: sourceLocation))
        #expect(claims.string("sub") == side.name, sourceLocation: sourceLocation)
        #expect(claims.string("idp") == side.provider.issuer, sourceLocation: sourceLocation)
        #expect(claims.string("iss") == Fixture.issuer, sourceLocation: sourceLocation)
    }

    @Test func areTwoUsers() async throws {
        let fixture = try await Fixture()
        let (a, b, broker) = (fixture.a, fixture.b, fixture.broker)
        var refreshTokens: [String] = []
        for side in [a, b] {
            let login = side.login()
            let exchanged = try await broker.settledToken(try side.logins.exchange(login))
            try #require(exchanged.status == 200, "\(exchanged.text)")
            try expect(exchanged.json?.string("access_token"), names: side)
            try expect(exchanged.json?.string("id_token"), names: side)
            // The id_token beside the access token is for this app alone: it begins nothing, although it has `idp`.
            let sibling = try await fixture.exchange(
                try #require(exchanged.json?.string("id_token")), at: Fixture.issuer, login.device, side.logins.source)
            #expect(sibling.error == "invalid_request", "\(sibling.text)")
            #expect(try await fixture.explanation(sibling).contains("subject_token_not_enrolled"))
            let refreshed = try await broker.settledToken(side.logins.refresh(try #require(exchanged.refreshToken)))
            try expect(refreshed.json?.string("access_token"), names: side)
            refreshTokens.append(try #require(refreshed.refreshToken))
        }
        // B logs its own `alice` out. A's sessions go on.
        #expect(try await broker.logout(b.logins.logoutEverywhere(b.login())).status == 200)
        let ended = try await broker.settledToken(b.logins.refresh(refreshTokens[1]))
        #expect(ended.error == "invalid_grant", "\(ended.text)")
        let alive = try await broker.settledToken(a.logins.refresh(refreshTokens[0]))
        try expect(alive.json?.string("access_token"), names: a)
        await broker.process.terminate()
    }

    /// The broker's own id_token has the prefix already, and is good for the user of its IdP alone. A code goes to the
    /// IdP of the app's groups, although two IdPs have a relay and the app names none.
    @Test func enrolledLogins() async throws {
        let fixture = try await Fixture()
        let (a, b, broker) = (fixture.a, fixture.b, fixture.broker)
        for (side, other) in [(a, b), (b, a)] {
            let login = side.login()
            let enrolled = try await broker.settledToken(try side.enrolment(login))
            let idToken = try #require(enrolled.json?.string("id_token"), "\(enrolled.text)")
            try expect(idToken, names: side)
            let exchanged = try await fixture.exchange(idToken, at: Fixture.issuer, login.device, side.logins.target)
            try expect(exchanged.json?.string("access_token"), names: side)
            let crossed = try await fixture.exchange(idToken, at: Fixture.issuer, login.device, other.logins.target)
            #expect(crossed.error == "invalid_grant", "\(crossed.text)")

            let device = Unguessable.make()
            let body = try side.answer()
            side.provider.token { _ in .answers(200, body) }
            other.provider.token { _ in .answers(400, #"{"error":"invalid_grant"}"#) }
            let relayed = try await broker.settledToken(side.code(device: device))
            let code = try #require(relayed.json?.string("id_token"), "\(relayed.text)")
            try expect(code, names: side)
            #expect(try await fixture.exchange(code, at: Fixture.issuer, device, side.logins.target).status == 200)
        }
        await broker.process.terminate()
    }

    /// B takes codes and says nothing: they fill its own places, and a broker that starts now cannot judge its logins. Then
    /// B refuses connections.
    @Test func oneProviderHangsAndGoesAway() async throws {
        let fixture = try await Fixture()
        let (a, b, broker) = (fixture.a, fixture.b, fixture.broker)
        func aIsServed() async throws {
            let body = try a.answer()
            a.provider.token { _ in .answers(200, body) }
            for form in [try a.logins.exchange(a.login()), a.code()] {
                let answer = try await broker.token(form)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
        b.provider.jwks(.hangs)
        let hanging = (0..<4).map { _ in Task { try await broker.token(b.code()) } }
        // One app may have half of the places.
        _ = try await eventually("codes are at B") { b.provider.codeCalls.count == 2 ? true : nil }
        try await aIsServed()
        for task in hanging { #expect(try await task.value.isOutage) }
        let known = try await broker.token(try b.logins.exchange(b.login()))
        #expect(known.status == 200, "\(known.text)")

        let late = try fixture.installation.startBroker("late")
        _ = try await eventually("A's apps are served by a broker that never heard of B") {
            (try? await late.token(try a.logins.exchange(a.login())))?.status == 200 ? true : nil
        }
        let unknown = try await late.token(try b.logins.exchange(b.login()))
        #expect(unknown.isOutage, "\(unknown.text)")

        b.provider.stop()
        let unreachable = try await broker.token(b.code())
        #expect(unreachable.isOutage, "\(unreachable.text)")
        let reason = try await fixture.installation.session().auditedReason(of: unreachable.requestID)
        #expect(reason == "idp_unreachable")
        try await aIsServed()
        for broker in [broker, late] { await broker.process.terminate() }
    }

    /// A user whom A calls `partner|alice` would be B's `alice` for every API.
    @Test func aReservedName() async throws {
        let fixture = try await Fixture()
        let (a, b, broker) = (fixture.a, fixture.b, fixture.broker)
        let impostor = a.login("partner|alice")
        for form in [try a.logins.exchange(impostor), try a.enrolment(impostor)] {
            let answer = try await broker.settledToken(form)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.text)")
            let explanation = try await fixture.explanation(answer)
            #expect(explanation.contains("subject_token_sub_reserved"), "\(explanation)")
            #expect(explanation.contains("gives this identity provider a subject_prefix"), "\(explanation)")
        }
        let honest = try await broker.settledToken(try b.logins.exchange(b.login("partner|alice")))
        #expect(
            try UnverifiedToken.claims(of: try #require(honest.json?.string("access_token"))).string("sub")
                == "partner|partner|alice")
        await broker.process.terminate()
    }

    /// The prefix is missing from a new configuration: no refresh makes two users one.
    @Test func aConfigurationThatForgetsAProvider() async throws {
        let fixture = try await Fixture()
        let family = try await fixture.b.logins.family(at: fixture.broker)
        let forgetful = try await fixture.installation.startBroker("forgetful") { $0.providers.removeLast() }.ready()
        let refused = try await forgetful.settledToken(fixture.b.logins.refresh(family.refreshToken))
        #expect(refused.error == "invalid_grant", "\(refused.text)")
        #expect(try await fixture.explanation(refused).contains("refresh_sub_ambiguous"))
        let refreshed = try await fixture.broker.settledToken(fixture.b.logins.refresh(family.refreshToken))
        #expect(refreshed.status == 200, "\(refreshed.text)")
        for broker in [fixture.broker, forgetful] { await broker.process.terminate() }
    }
}
