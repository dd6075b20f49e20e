import BrokerHarness
import DevelopmentIdP
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NativeSSOClient
import OAuthWire
import PrivateCluster
import StrictCoding
import Testing

@testable import native_sso_dev

/// The browser and the client library against the identity provider, over HTTP.
@Suite struct UserAgentTests {
    @Test func aLoginByThePageEndsInTheAppWithTokens() async throws {
        try await RunningProvider.with { provider in
            let attempt = provider.attempt(scope: "openid offline_access device_sso")
            let browser = UserAgent()
            let page = try Self.page(try await browser.open(attempt.address()))
            let wrong = try Self.page(
                try await browser.submit(page, ["username": "alice", "password": "wrong"]))
            #expect(wrong.status == 403)
            let code = try attempt.code(
                from: try Self.app(
                    try await browser.submit(wrong, ["username": "alice", "password": "alice-demo-password"])))
            let endpoint = TokenEndpoint(
                address: attempt.provider.tokenEndpoint, clientID: "app-one", identification: .basic,
                transport: ClientTransport { _, _ in })
            let device = DeviceIdentifier()
            let tokens = try await endpoint.redeem(code, of: attempt, device: device, at: Int64(time(nil)))
            let idToken = try #require(tokens.idToken)
            let claims = try #require(TokenClaims.read(idToken))
            #expect(claims.string("sid") != nil && claims.string("di_hash") != nil && claims.string("ds_hash") != nil)
            #expect(tokens.deviceSecret != nil)
            let refreshed = try await endpoint.refresh(try #require(tokens.refreshToken))
            #expect(refreshed.accessToken.secret != tokens.accessToken.secret)
        }
    }

    @Test func theSecondLoginNeedsNoPage() async throws {
        try await RunningProvider.with { provider in
            let browser = UserAgent()
            let first = provider.attempt()
            let page = try Self.page(try await browser.open(first.address()))
            let filled = try await browser.submit(page, ["username": "bob", "password": "bob-demo-password"])
            _ = try first.code(from: try Self.app(filled))
            let second = provider.attempt()
            _ = try second.code(from: try Self.app(try await browser.open(second.address(prompt: "none"))))
            let stranger = provider.attempt()
            let refusal = try Self.app(try await UserAgent().open(stranger.address(prompt: "none")))
            #expect(throws: CallbackError.refused("login_required")) { try stranger.code(from: refusal) }
        }
    }

    @Test func aRefusalByTheEndpointIsTyped() async throws {
        try await RunningProvider.with { provider in
            let attempt = provider.attempt()
            let endpoint = TokenEndpoint(
                address: attempt.provider.tokenEndpoint, clientID: "app-one", transport: ClientTransport { _, _ in })
            let error = await #expect(throws: ClientError.self) {
                try await endpoint.redeem(Credential("no such code"), of: attempt, at: 0)
            }
            #expect(error?.remedy(after: .redeemCode) == .logIn)
        }
    }

    @Test func anUnusedPortGivesNoAnswer() async throws {
        let port = try LoopbackPort.free()
        let endpoint = TokenEndpoint(
            address: "http://127.0.0.1:\(port)/token", clientID: "app-one", transport: ClientTransport { _, _ in })
        let error = await #expect(throws: ClientError.self) { try await endpoint.refresh(Credential("x")) }
        #expect(error?.remedy(after: .refresh) == .retry(after: nil))
    }

    private static func page(_ outcome: UserAgent.Outcome) throws -> UserAgent.Page {
        guard case .page(let page) = outcome else { throw StepFailure("expected a page: \(outcome)") }
        return page
    }

    private static func app(_ outcome: UserAgent.Outcome) throws -> String {
        guard case .app(let address) = outcome else { throw StepFailure("expected an app's address: \(outcome)") }
        return address
    }
}

/// An identity provider that serves on a port of its own.
private struct RunningProvider: Sendable {
    let issuer: String
    private let address: String

    static func with(_ body: @escaping @Sendable (RunningProvider) async throws -> Void) async throws {
        let redirect = try #require(RedirectURI(SampleApp.one.redirectURI))
        let configuration = try ProviderConfiguration(
            port: 0, clients: [RegisteredClient(id: "app-one", redirectURIs: [redirect])])
        let provider = DevelopmentIdentityProvider(
            configuration, users: .demonstration, signingKeys: SigningKeys(try SigningKey(generating: .es256)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await provider.application().test(.live) { http in
            let port = try #require(http.port)
            try await body(RunningProvider(issuer: configuration.issuer, address: "http://localhost:\(port)"))
        }
    }

    func attempt(scope: String = "openid") -> LoginAttempt {
        LoginAttempt(
            provider: IdentityProvider(
                issuer: issuer, authorizationEndpoint: address + "/authorize", tokenEndpoint: address + "/token"),
            clientID: "app-one", redirectURI: SampleApp.one.redirectURI, scope: scope)
    }
}
