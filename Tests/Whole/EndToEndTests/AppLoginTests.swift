import BrokerHarness
import Foundation
import NativeSSOAsyncHTTPClient
import NativeSSOClient
import NativeSSOURLSession
import OAuthWire
import StrictCoding
import Testing

/// Two apps that are built with the library, at the development IdP and a broker.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AppLoginTests {
    /// Both apps of one device.
    private struct Phone {
        let one: AppLogin
        let two: AppLogin
        let browser = UserAgent()
        let user: (name: String, password: String)

        init(
            _ run: Development, _ transport: any HTTPTransport = AsyncHTTPClientTransport(),
            _ change: (inout AppLogin.Configuration) -> Void = { _ in }
        ) throws {
            let transport = OperatorsProxy(
                inner: transport, issuer: try run.development.text("broker.issuer"),
                metadata: try run.development.text("broker.internal"))
            let shared = InMemoryKeychain()
            func app(_ clientID: String) throws -> AppLogin {
                var configuration = AppLogin.Configuration(
                    broker: try run.development.text("broker.issuer"),
                    provider: try run.development.text("identity_provider.issuer"), clientID: clientID,
                    redirectURI: try run.redirectURI(of: clientID))
                configuration.loginScope = "openid profile"
                change(&configuration)
                return AppLogin(configuration, shared: shared, own: InMemoryKeychain(), transport: transport)
            }
            (one, two) = (try app(Development.source), try app(Development.target))
            user = try run.user()
        }

        /// The user fills in the form, if the IdP shows one.
        func visit(_ address: String) async throws -> String {
            switch try await browser.open(address) {
            case .app(let callback): return callback
            case .page(let page):
                let outcome = try await browser.submit(page, ["username": user.name, "password": user.password])
                guard case .app(let callback) = outcome else { throw Unexpected(what: "\(outcome)") }
                return callback
            }
        }
    }

    /// Where metadata is served: behind the operator's proxy it is the issuer's host.
    private struct OperatorsProxy: HTTPTransport {
        let inner: any HTTPTransport
        let issuer: String
        let metadata: String

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            var request = request
            if request.address.hasPrefix(issuer + "/.well-known/") {
                request.address = metadata + request.address.dropFirst(issuer.count)
            }
            return try await inner.send(request)
        }
    }

    private struct Unexpected: Error { let what: String }

    @Test(
        "One login for two apps, in every way to share it",
        arguments: [
            (AppLogin.Sharing.provider, AppLogin.Profile.deviceSecret), (.provider, .transitionalDeviceSecret),
            (.provider, .deviceID), (.enrolment, .deviceSecret), (.codeEnrolment, .deviceSecret),
        ])
    func oneLoginForTwoApps(_ sharing: AppLogin.Sharing, _ profile: AppLogin.Profile) async throws {
        let run = try await Development.shared
        let phone = try Phone(run) { configuration in
            configuration.sharing = sharing
            configuration.profile = profile
        }
        let outcome = try await phone.one.logIn(in: phone.visit)
        let orders = "http://127.0.0.1:\(try run.development.serverPort(0))/api/data"
        for app in [phone.one, phone.two] {
            #expect(try await app.send(TransportRequest(orders)).status == 200)
        }
        let claims = try await run.verifiedClaims(of: try await phone.two.accessToken().secret)
        #expect(claims.string("sub") == outcome.claims.user.subject)
        if sharing == .provider {
            #expect(
                try await phone.one.userInfo(of: outcome).string("sub") == outcome.claims.user.subject)
        }
    }

    @Test("The IdP's session logs in without a page, until it ends in the browser")
    func silentLoginAndLogout() async throws {
        let run = try await Development.shared
        let phone = try Phone(run)
        let early = await #expect(throws: ClientError.self) { try await phone.one.logInSilently(in: phone.visit) }
        guard case .callback(.refused("login_required")) = early else {
            throw Unexpected(what: "\(String(describing: early))")
        }
        let first = try await phone.one.logIn(in: phone.visit)
        let second = try await phone.one.logInSilently(in: phone.visit)
        #expect(first.claims.user == second.claims.user && first.claims.sessionID == second.claims.sessionID)
        try await phone.one.signOutAtProvider { address in
            guard case .page(let page) = try await phone.browser.open(address), page.status == 200 else {
                throw Unexpected(what: address)
            }
            return ""
        }
        let late = await #expect(throws: ClientError.self) { try await phone.two.accessToken() }
        #expect(late?.remedy(after: .exchange) == .logIn)
    }

    @Test("URLSession sends what the library needs")
    func urlSession() async throws {
        let run = try await Development.shared
        let phone = try Phone(run, URLSessionTransport())
        try await phone.one.logIn(in: phone.visit)
        let orders = "http://127.0.0.1:\(try run.development.serverPort(1))/api/records"
        #expect(try await phone.two.send(TransportRequest(orders)).status == 200)
        let missing = try await URLSessionTransport().send(
            TransportRequest(try run.development.text("identity_provider.issuer") + "/nothing"))
        #expect(missing.status == 404)
        // The IdP answers with a redirect, which the app would follow to nowhere.
        let authorize =
            try run.development.text("identity_provider.issuer") + "/authorize?response_type=code&client_id="
            + "app-one&redirect_uri=\(try run.redirectURI(of: "app-one"))&scope=openid&state=s&prompt=none"
        for transport in [URLSessionTransport() as any HTTPTransport, AsyncHTTPClientTransport()] {
            let response = try await transport.send(TransportRequest(authorize))
            #expect((300..<400).contains(response.status) && response[field: "Location"]?.contains("error=") == true)
        }
    }
}
