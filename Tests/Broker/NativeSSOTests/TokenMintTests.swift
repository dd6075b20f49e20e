import BrokerTesting
import RegistryConformance
import NativeSSO
import StrictCoding
import Testing

@Suite struct TokenMintTests {
    /// A client registered for id_tokens gets one of the broker's: for this app, bound to the same session and device.
    /// The signing key determines the hash function.
    @Test(arguments: [Profile.deviceID, .deviceSecret])
    func aSiblingIDToken(profile: Profile) async throws {
        var scenario = try ExchangeScenario(profile: profile)
        scenario.client.issuesIDToken = true
        let broker = try await Broker(scenario, algorithm: .edDSA)
        let answer = try await broker.exchange(scenario.request)
        let idToken = try #require(answer.idToken)
        let token = try #require(UnverifiedJWS(idToken))
        #expect(token.type == "JWT")
        #expect(token.claims.string("sub") == scenario.subject.string)
        #expect(token.claims.string("aud") == scenario.target.string)
        #expect(token.claims.string("sid") == scenario.sessionID.string)
        let hash = token.claims.string(profile == .deviceID ? "di_hash" : "ds_hash")
        #expect(hash == scenario.device.hash(function: .sha512))
        #expect(token.claims.number("auth_time")?.int64 == scenario.login.authenticatedAt?.seconds)
        #expect(token.claims.string("jti") != UnverifiedJWS(answer.accessToken)?.claims.string("jti"))
    }

    /// Every access token names the session as the broker's commands and audit do. The IdP's `sid` stays between the
    /// apps, the IdP and the broker.
    @Test func anAccessTokenNamesTheSessionAsTheBrokerDoes() async throws {
        let scenario = try RefreshScenario()
        let broker = try await Broker(scenario)
        let refreshed = try await broker.refresh(scenario.request(keys: broker.keys))
        let exchanged = try await broker.exchange(scenario.exchange.request)
        for token in [refreshed, exchanged].map(\.accessToken) {
            let claims = try #require(UnverifiedJWS(token)).claims
            #expect(claims.string("session_id") == scenario.exchange.session?.id.description)
            #expect(!claims.contains("sid"))
            #expect(claims.number("nbf") == claims.number("iat"))
        }
    }

    /// A refresh repeats what the exchange copied, without the claims that the client's list has lost since.
    @Test func copiedClaims() async throws {
        var scenario = try ExchangeScenario()
        scenario.client.copiedClaims = ["email", "roles", "address"]
        scenario.allClaims["roles"] = .array([.string("reader")])
        scenario.allClaims["email"] = .string("a@b.example")
        scenario.allClaims["address"] = .string(String(repeating: "x", count: 2048))
        scenario.allClaims["other"] = .bool(true)
        let broker = try await Broker(scenario)
        var subject = AuditSubject()
        let first = try await broker.exchange(scenario.request, about: &subject)
        let claims = try #require(UnverifiedJWS(first.accessToken)).claims
        #expect(claims.string("email") == "a@b.example" && claims.strings("roles") == ["reader"])
        #expect(!claims.contains("other") && !claims.contains("address"))
        #expect(subject.claimsLeftOut == ["address"])

        scenario.client.copiedClaims = ["roles"]
        let second = try await broker.refresh(
            RefreshRequest(
                requestID: .random(), client: scenario.client, refreshToken: try #require(first.refreshToken),
                scope: nil))
        let refreshed = try #require(UnverifiedJWS(second.accessToken)).claims
        #expect(refreshed.strings("roles") == ["reader"] && !refreshed.contains("email"))
    }

    /// RFC 8707: `resource` narrows one access token, and not the grant.
    @Test func anAccessTokenForOneResource() async throws {
        var scenario = try ExchangeScenario()
        scenario.client.audiences = ["https://a.example", "https://b.example"]
        let broker = try await Broker(scenario)
        func audience(_ answer: TokenAnswer) -> [String]? {
            let claims = UnverifiedJWS(answer.accessToken)?.claims
            return claims?.string("aud").map { [$0] } ?? claims?.strings("aud")
        }
        let first = try await broker.exchange(
            ExchangeRequest(
                requestID: .random(), client: scenario.client, issuer: scenario.policy,
                subjectToken: SubjectToken("an id_token"), device: scenario.device, scope: nil,
                resource: "https://b.example"))
        #expect(audience(first) == ["https://b.example"])
        #expect(first.scope == ExchangeScenario.scope.description)
        func refresh(_ token: String?, _ resource: String?) async throws -> TokenAnswer {
            try await broker.refresh(
                RefreshRequest(
                    requestID: .random(), client: scenario.client, refreshToken: try #require(token), scope: nil,
                    resource: resource))
        }
        let second = try await refresh(first.refreshToken, nil)
        #expect(audience(second) == scenario.client.audiences)
        let third = try await refresh(second.refreshToken, "https://a.example")
        #expect(audience(third) == ["https://a.example"])
    }

    /// Every token names the IdP of the login, and the user by the IdP's prefix. The registry has the IdP's own `sub`.
    @Test func theUserHasThePrefixOfTheProvider() async throws {
        var scenario = try ExchangeScenario()
        scenario.client.issuesIDToken = true
        var broker = try await Broker(scenario)
        broker.subjects = SubjectPrefixes([scenario.issuer: "partner|"])
        let exchanged = try await broker.exchange(scenario.request)
        let refreshed = try await broker.refresh(
            RefreshRequest(
                requestID: .random(), client: scenario.client, refreshToken: try #require(exchanged.refreshToken),
                scope: nil))
        for token in [exchanged.accessToken, try #require(exchanged.idToken), refreshed.accessToken] {
            let claims = try #require(UnverifiedJWS(token)).claims
            #expect(claims.string("sub") == "partner|" + scenario.subject.string)
            #expect(claims.string("idp") == scenario.issuer.string)
        }
        #expect(broker.registry.admissions.map(\.idToken.subject) == [scenario.subject])
    }

    /// The access tokens of an exchange and of its refresh differ only in `iat`, `nbf`, `exp` and `jti`.
    @Test func aRefreshChangesNothingButTime() async throws {
        let scenario = try ExchangeScenario()
        let broker = try await Broker(scenario)
        let first = try await broker.exchange(scenario.request)
        broker.pass(.hours(1))
        let second = try await broker.refresh(
            RefreshRequest(
                requestID: .random(), client: scenario.client, refreshToken: try #require(first.refreshToken),
                scope: nil))
        let before = try #require(UnverifiedJWS(first.accessToken)).claims
        let after = try #require(UnverifiedJWS(second.accessToken)).claims
        #expect(before.names == after.names)
        for name in before.names where !["iat", "nbf", "exp", "jti"].contains(name) {
            #expect(before[name] == after[name], "\(name)")
        }
        #expect(after.number("iat")?.int64 == scenario.now.adding(.hours(1)).seconds)
        #expect(before.string("jti") != after.string("jti"))
    }
}
