import BrokerTesting
import JOSE
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    struct ProviderFaultTests {
        /// Known keys keep verifying while the fetch for an unknown one hangs. The tests of IdentityProvider cover the
        /// other wrong answers.
        @Test func cachedKeysGoOn() async throws {
            let fixture = try await FaultFixture.shared
            let provider = fixture.provider
            var stranger = fixture.logins.login()
            stranger.token.header["kid"] = .string("unheard-of")
            let form = try fixture.logins.exchange(stranger)
            provider.jwks(.hangs)
            defer { provider.jwks(.answers) }
            let before = provider.jwksRequests
            // An unknown key makes the broker fetch again, at most every half minute. Until then the broker refuses it.
            let unknown = Task {
                try await eventually("the hanging request ends", within: .seconds(90), every: .milliseconds(200)) {
                    () -> HTTPAnswer? in
                    let answer = try await fixture.broker.token(form)
                    guard answer.status == 400 else { return answer }
                    #expect(answer.error == "invalid_request", "\(answer.text)")
                    return nil
                }
            }
            _ = try await eventually("the question", within: .seconds(90)) {
                provider.jwksRequests > before ? true : nil
            }
            let answer = try await fixture.broker.token(try fixture.logins.exchange(fixture.logins.login()))
            #expect(answer.status == 200, "\(answer.text)")
            let outage = try await unknown.value
            #expect(outage.isOutage, "\(outage.status) \(outage.text)")
        }

        /// The IdP is down when the broker starts: alive, not ready, an outage. Then the IdP starts, and the broker
        /// becomes ready.
        @Test func aBrokerThatStartsBeforeItsIdentityProvider() async throws {
            let fixture = try await FaultFixture.shared
            let key = try TestKey(.es256, keyID: "late")
            let absent = try StubIdentityProvider(keys: [key])
            absent.stop()
            let (installation, logins) = try await Installation.ofTwoApps(absent.issuer, key, on: fixture.cluster)
            let broker = try installation.startBroker()
            try await broker.untilAlive()
            let readiness = try await HTTPRequest("GET", "/readyz").send(to: broker.internalPort)
            #expect(readiness.status == 503)
            #expect(
                !readiness.failedChecks.isEmpty && !readiness.failedChecks.contains("database"), "\(readiness.text)")
            let answer = try await broker.token(try logins.exchange(logins.login()))
            #expect(answer.isOutage, "\(answer.status) \(answer.text)")

            let present = try StubIdentityProvider(keys: [key], port: absent.port)
            try await broker.untilReady()
            #expect(try await broker.token(try logins.exchange(logins.login())).status == 200)
            #expect(present.jwksRequests > 0)
            await broker.process.terminate()
        }
    }
}

extension HTTPAnswer {
    /// The checks of `/readyz` that failed, each with a reason.
    fileprivate var failedChecks: [String] {
        (json?.array("checks") ?? []).compactMap(\.object).filter { $0.string("status") == "failed" }
            .compactMap { $0.string("reason") == nil ? nil : $0.string("name") }
    }
}
