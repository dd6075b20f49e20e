import BrokerTesting
import RegistryConformance
@testable import NativeSSO
import Testing

/// No log line shows a secret: not by interpolation, not by reflection, not inside another value.
@Suite struct SecretTests {
    private let secret = "correct-horse-battery-staple"

    @Test func theyDoNotShow() throws {
        let scenario = try ExchangeScenario()
        let token = SubjectToken(secret)
        #expect(token.octets == Array(secret.utf8))
        expectHidden(token)
        for profile in Profile.allCases {
            let device = try #require(DeviceValue(secret, profile: profile))
            expectHidden(device)
            expectHidden(
                ExchangeRequest(
                    requestID: .random(), client: scenario.client, issuer: scenario.policy, subjectToken: token,
                    device: device, scope: nil))
        }
        expectHidden(
            TokenAnswer(
                accessToken: secret, expiresIn: 300, scope: "openid", refreshToken: secret, idToken: secret))
        expectHidden(RefreshRequest(requestID: .random(), client: scenario.client, refreshToken: secret, scope: nil))
    }

    private func expectHidden(_ value: some Sendable, sourceLocation: SourceLocation = #_sourceLocation) {
        var dumped = ""
        dump(value, to: &dumped)
        dump([value], to: &dumped)
        dump(["in a dictionary": Optional(value)], to: &dumped)
        let printed = "\(value) \(String(describing: value)) \(String(reflecting: value)) \([value])"
        for text in [dumped, printed] {
            #expect(!text.contains(secret), sourceLocation: sourceLocation)
            // Its octets, on one line or one under the other.
            #expect(!text.contains("99, 111, 114"), sourceLocation: sourceLocation)
            #expect(!text.contains("- 111\n"), sourceLocation: sourceLocation)
            #expect(text.contains("****"), sourceLocation: sourceLocation)
        }
    }
}
