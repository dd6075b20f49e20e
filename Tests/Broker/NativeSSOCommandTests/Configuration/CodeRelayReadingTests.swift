import IdentityProvider
import NativeSSO
import OAuthWire
import Testing

@testable import native_sso

/// Every key of `code_relay`, and the message for each invalid value.
@Suite struct CodeRelayReadingTests {
    private func relay(_ lines: String) throws -> Configuration.CodeRelay? {
        try SampleFile.read(SampleFile.adding(lines)).identityProviders.first?.codeRelay
    }

    @Test func whatIsNotSaid() throws {
        #expect(try self.relay("") == nil)
        let relay = try #require(try relay("    code_relay: {}"))
        #expect(relay.tokenEndpoint == nil && relay.revocationEndpoint == nil && relay.secret == nil)
        let policy = try SampleFile.read(SampleFile.adding("    code_relay: {}")).identityProviders.first?.policy
        #expect(policy?.codeRelay == relay.policy && relay.policy.revokesOrphans)
    }

    @Test func everyKey() throws {
        let (secret, own) = (try TemporaryFile("s3cret\n"), try TemporaryFile("0wn\n"))
        let relay = try #require(
            try relay(
                """
                    jwks_uri: https://idp.example.com/keys
                    code_relay:
                      client_secret_file: \(secret.path)
                      client_authentication: client_secret_post
                      token_endpoint: https://tokens.example.com/token
                      revocation_endpoint: https://tokens.example.com/revoke
                      timeout: 30s
                      at_once: 1000
                      revoke_orphans: false
                      idp_id_token: true
                      clients:
                        - { client_id: orders, client_secret_file: \(own.path), client_authentication: client_secret_post }
                        - { client_id: mail, client_secret_file: \(secret.path) }
                """))
        #expect(relay.secret?.value.secret == "s3cret" && relay.secret?.method == .post)
        #expect(relay.tokenEndpoint?.string == "https://tokens.example.com/token")
        #expect(relay.revocationEndpoint?.string == "https://tokens.example.com/revoke")
        #expect(relay.policy == CodeRelayPolicy(timeout: 30, atOnce: 1000, revokesOrphans: false, passesIDToken: true))
        let secrets = relay.secrets.map { "\($0.key) \($0.value.method.rawValue) \($0.value.value.secret)" }
        #expect(secrets.sorted() == ["mail client_secret_basic s3cret", "orders client_secret_post 0wn"])
        let basic = try self.relay("    code_relay: { client_secret_file: \(secret.path) }")
        #expect(basic?.secret?.method == .basic)
    }

    @Test func oneSecretForEachClientThatNoOtherUserCanRead() throws {
        let (secret, open) = (try TemporaryFile("s3cret"), try TemporaryFile("s3cret", mode: 0o644))
        let client = "{ client_id: orders, client_secret_file: \(secret.path) }"
        #expect(
            SampleFile.problems(SampleFile.adding("    code_relay: { clients: [\(client), \(client)] }")) == [
                "test.yaml:10: identity_providers[0].code_relay.clients[1].client_id: is there twice; remove one of them"
            ])
        let problems = SampleFile.problems(SampleFile.adding("    code_relay: { client_secret_file: \(open.path) }"))
        #expect(problems.count == 1 && problems.first?.contains("code_relay.client_secret_file: ") == true)
    }
}
