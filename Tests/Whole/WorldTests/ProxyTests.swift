import BrokerHarness
import BrokerTesting
import JOSE
import OAuthWire
import PrivateCluster
import StrictCoding
import Testing

/// The broker behind the proxies of the guide, with the guide's own files.
@Suite(.serialized, .timeLimit(.minutes(5)), .needs(.nginx, .haproxy, .caddy)) struct ProxyTests {
    @Test(
        "A proxy passes on what apps, APIs and the IdP need, and nothing else",
        arguments: Proxy.Kind.allCases)
    func passesOn(_ kind: Proxy.Kind) async throws {
        let fixture = try await Fixture()
        let proxy = try await fixture.proxy(kind)

        for version in ["--http2", "--http1.1"] {
            let form = try fixture.logins.exchange(fixture.logins.login())
            let answer = try await proxy.post("/token", form.encoded, [version])
            #expect(answer.status == 200 && answer.json?.string("access_token") != nil, "\(answer) \(proxy.log)")
            #expect(answer.version == (version == "--http2" ? "2" : "1.1"))
        }
        for path in ["jwks.json", "oauth-authorization-server", "openid-configuration"] {
            let answer = try await proxy.get("/.well-known/\(path)")
            #expect(answer.status == 200 && answer.json != nil, "\(path): \(answer)")
            #expect(try await proxy.post("/.well-known/\(path)", "a=b", ["--http1.1"]).status >= 400)
        }
        for path in ["/metrics", "/readyz", "/livez", "/", "/token/", "//token", "/.well-known/", "/TOKEN"] {
            #expect(try await proxy.get(path).status == 404, "\(path)")
        }
        #expect(try await proxy.get("/token").status == 405)

        let logout = "logout_token=none"
        #expect([403, 404].contains(try await proxy.post("/backchannel-logout", logout, ["--http1.1"]).status))
        let ofProvider = try await proxy.post(
            "/backchannel-logout", logout, ["--http1.1", "--interface", Proxy.providerAddress])
        #expect(ofProvider.status == 400 && ofProvider.json?.string("error") == "invalid_request", "\(ofProvider)")

        let tooLarge = String(repeating: "a", count: 70_000)
        // Caddy stops in the middle of the request, and may close the connection without an answer.
        do {
            let refused = try await proxy.post("/token", tooLarge, ["--http1.1"])
            #expect([400, 413, 502].contains(refused.status), "\(refused)")
        } catch {
            #expect(kind == .caddy, "\(error)")
        }
        #expect(await fixture.broker.process.terminate() == 0)
    }

    @Test(
        "A proxy names the client's true address, and never sends a token request twice",
        arguments: Proxy.Kind.allCases)
    func isSentOnce(_ kind: Proxy.Kind) async throws {
        let fixture = try await Fixture()
        let silent = try (1...2).map { try StubIdentityProvider(keys: [TestKey(.es256, keyID: "stub \($0)")]) }
        for stub in silent { stub.token { _ in .closes } }
        let proxy = try await Proxy(
            kind, brokers: (silent[0].port, silent[1].port), internalPort: fixture.broker.internalPort)
        // The brokers take the request and say nothing. HAProxy then says nothing either.
        let answer = try? await proxy.post(
            "/token", "grant_type=none",
            ["--http1.1", "--interface", "127.0.0.3", "--header", "X-Forwarded-For: 203.0.113.1"])
        #expect((502...504).contains(answer?.status ?? 502))
        let calls = silent.flatMap(\.codeCalls)
        #expect(calls.count == 1)
        #expect(calls.first?.field("X-Forwarded-For") == "127.0.0.3")
        #expect(await fixture.broker.process.terminate() == 0)
    }

    @Test(
        "A proxy keeps connections, and a forged address is not counted",
        arguments: Proxy.Kind.allCases)
    func isOneClient(_ kind: Proxy.Kind) async throws {
        let fixture = try await Fixture(limits: ["address": "6/1h"])
        let proxy = try await fixture.proxy(kind)
        // One connection to the proxy, and one or two from its threads to the broker.
        for version in ["--http2", "--http1.1"] {
            #expect(try await proxy.connections(for: 5, [version, "--interface", "127.0.0.4"]) == 1)
        }
        let kept = try await fixture.broker.get("/metrics").text.firstMatch(of: /\nnative_sso_connections (\d+)\n/)
        #expect(kept.flatMap { Int($0.1) }.map { 1...2 ~= $0 } == true, "\(kept?.0 ?? "")")

        // The forged address has a limit, and is not counted. The true one is this machine, which has none.
        let forged = ["--header", "X-Forwarded-For: 203.0.113.1"]
        for _ in 0..<8 { #expect(try await proxy.post("/token", "grant_type=none", forged).status == 400) }
        var request = HTTPRequest.token([("grant_type", "none")])
        request.fields.append(("X-Forwarded-For", "203.0.113.1"))
        var statuses: [Int] = []
        for _ in 0..<7 { statuses.append(try await request.send(to: fixture.broker.publicPort).status) }
        #expect(statuses == [400, 400, 400, 400, 400, 400, 429])
        #expect(await fixture.broker.process.terminate() == 0)
    }

    /// One broker. Nothing listens at the first address that a proxy has, so the second one must do. Caddy does not try
    /// again.
    private struct Fixture {
        let broker: Broker
        let logins: LoginFactory
        private let installation: Installation
        private let unused: UInt16

        init(limits: [String: String] = [:]) async throws {
            let key = try TestKey(.es256, keyID: "idp")
            var provider = BrokerConfiguration.Provider("https://idp.example.test", keys: .file([key]))
            provider.logout = []
            (installation, logins) = try await Installation.ofTwoApps(
                provider, key, on: try await PrivateCluster.shared)
            broker = try installation.startBroker("behind-proxy") {
                $0.trustedProxies = ["127.0.0.1"]
                $0.limits.merge(limits) { $1 }
            }
            try await broker.untilReady()
            unused = try LoopbackPort.free()
        }

        func proxy(_ kind: Proxy.Kind) async throws -> Proxy {
            try await Proxy(
                kind, brokers: (kind == .caddy ? broker.publicPort : unused, broker.publicPort),
                internalPort: broker.internalPort)
        }
    }
}

extension TokenForm {
    fileprivate var encoded: String { String(decoding: FormEncoder.encode(parameters), as: UTF8.self) }
}
