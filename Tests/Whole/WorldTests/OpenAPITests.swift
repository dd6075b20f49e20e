import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import BrokerHarness
import Testing

/// Both listeners are as the OpenAPI document says: every answer to requests that follow it, and to many that do not.
@Suite(.timeLimit(.minutes(10))) struct OpenAPITests {
    private static let document = Checkout.root.appending(
        path: "Sources/Broker/BrokerHTTP/BrokerHTTP.docc/openapi.yaml")

    @Test(.needs(.schemathesis)) func everyAnswerIsDescribed() async throws {
        let schemathesis = try Schemathesis()
        let key = try TestKey(.es256, keyID: "idp")
        let provider = try StubIdentityProvider(keys: [key])
        let (installation, logins) = try await Installation.ofTwoApps(
            provider.issuer, key, on: try await PrivateCluster.shared)
        let backchannel = try LoopbackPort.free()
        // The refresh token of the examples stays good to ask again with for as long as one check may run.
        let broker = try installation.startBroker(environment: [
            "NATIVE_SSO_BACKCHANNEL_LISTEN": "127.0.0.1:\(backchannel)", "NATIVE_SSO_BACKCHANNEL_REVOKE": "true",
            "NATIVE_SSO_BACKCHANNEL_INTROSPECT": "true", "NATIVE_SSO_BACKCHANNEL_SECURITY_EVENTS": "true",
            "NATIVE_SSO_BACKCHANNEL_GLOBAL_TOKEN_REVOCATION": "true",
        ]) { $0.unboundRefreshGrace = 300 }
        try await broker.untilReady()
        let document = try await Self.withExamples(logins, broker, in: installation.directory)

        // Two expected results: the broker refuses a token made up from a schema, and a public client needs no
        // Authorization.
        try await schemathesis.check(
            document, port: broker.publicPort,
            ["--include-path", "/token", "--exclude-checks", "positive_data_acceptance,ignored_auth"])
        try await schemathesis.check(
            document, port: broker.internalPort,
            ["--include-path", "/backchannel-logout", "--exclude-checks", "positive_data_acceptance"])
        try await schemathesis.check(
            document, port: broker.internalPort,
            [
                "--exclude-path", "/token", "--exclude-path", "/backchannel-logout", "--exclude-path", "/revoke",
                "--exclude-path", "/introspect", "--exclude-path", "/security-events", "--exclude-path",
                "/global-token-revocation",
            ])
        try await schemathesis.check(
            document, port: backchannel,
            [
                "--include-path", "/revoke", "--include-path", "/introspect",
                "--include-path", "/global-token-revocation", "--include-path", "/security-events",
                "--exclude-checks", "positive_data_acceptance,ignored_auth",
            ])

        // The examples were good ones: answers with tokens were among those that were held to the document.
        let metrics = try await HTTPRequest("GET", "/metrics").send(to: broker.internalPort).text
        for grant in ["token_exchange", "refresh_token"] {
            let granted = metrics.split(separator: "\n").first {
                $0.contains("requests_total{") && $0.contains("grant=\"\(grant)\"")
                    && $0.contains("outcome=\"granted\"")
            }
            #expect((granted?.split(separator: " ").last.flatMap { Int($0) } ?? 0) > 1, "\(granted ?? "none")")
        }
        #expect(await broker.process.terminate() == 0)
    }

    /// The document with examples that are good at this broker.
    private static func withExamples(_ logins: LoginFactory, _ broker: Broker, in directory: URL) async throws -> URL {
        let login = logins.login()
        var text = try String(contentsOf: document, encoding: .utf8)
        for (word, value) in [
            ("\"ID_TOKEN\"", try login.token.signed()), ("\"DEVICE_VALUE\"", login.device),
            ("\"REFRESH_TOKEN\"", try await logins.family(at: broker).refreshToken),
            ("audience: \"https://idp.example.com\"", "audience: \"\(logins.issuer)\""),
        ] {
            #expect(text.contains(word))
            text = text.replacing(word, with: word.hasPrefix("audience") ? value : "\"\(value)\"")
        }
        let file = directory.appending(path: "openapi.yaml")
        try Data(text.utf8).write(to: file)
        return file
    }
}
