import NativeSSOClient
import OAuthWire
import Synchronization
import Testing

@testable import native_sso_dev

@Suite struct NarratorTests {
    @Test func secretsAreCutShort() async throws {
        let lines = Mutex<[String]>([])
        let narrator = Narrator { line in lines.withLock { $0.append(line) } }
        let secret = String(repeating: "s", count: 20) + String(repeating: "t", count: 23)
        let endpoint = TokenEndpoint(
            address: "http://b/token", clientID: "app-two", identification: .basic,
            transport: EchoTransport(secret: secret) { narrator.tokenRequest($0, $1) })
        let device = try #require(DeviceIdentifier(secret))
        _ = try await endpoint.exchange(
            SharedLogin(idToken: Credential(secret), device: .identifier(device)), issuer: "http://i", scope: "openid")
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(!text.contains(secret))
        #expect(text.contains("ssss…tttt"))
        #expect(text.contains("audience=http://i"))
        #expect(text.contains("Basic app-two:"))
        #expect(text.contains("scope=openid"))
        #expect(text.contains("token_type=Bearer"))
    }

    @Test func anAddressLosesItsSecrets() {
        let address =
            "com.example.one:/callback?code=abcdefghijabcdefghijabcdefghijabcdefghij123&state=short&iss=http%3A%2F%2Fi"
        #expect(Narrator.address(address) == "com.example.one:/callback?code=abcd…j123&state=****&iss=http%3A%2F%2Fi")
        #expect(Narrator.address("http://i/login") == "http://i/login")
    }

    @Test func expectationsThatFailSaySo() async throws {
        #expect(throws: StepFailure.self) { try expect(false, "the server answers 200") }
        try expect(true, "nothing")
    }
}

/// Answers every request with tokens that hold the secret.
private struct EchoTransport: HTTPTransport {
    let secret: String
    let watch: @Sendable (TransportRequest, TransportResponse) -> Void

    func send(_ request: TransportRequest) -> TransportResponse {
        let body = "{\"access_token\":\"\(secret)\",\"token_type\":\"Bearer\",\"refresh_token\":\"\(secret)\"}"
        let response = TransportResponse(status: 200, body: Array(body.utf8))
        watch(request, response)
        return response
    }
}
