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

    @Test func nothingIsRelayedUnlessSaid() throws {
        #expect(try relay("") == nil)
    }

    @Test func whatIsNotSaid() throws {
        let relay = try #require(try relay("    code_relay: {}"))
        #expect(relay.tokenEndpoint == nil && relay.revocationEndpoint == nil && relay.secret == nil)
        #expect(relay.policy == CodeRelayPolicy(timeout: 5, atOnce: 32, revokesOrphans: true))
        let policy = try SampleFile.read(SampleFile.adding("    code_relay: {}")).identityProviders.first?.policy
        #expect(policy?.codeRelay == relay.policy)
    }

    @Test func everyKey() throws {
        let (secret, own) = (try TemporaryFile("s3cret\n"), try TemporaryFile("0wn\n"))
        let relay = try #require(
            try relay(
                """
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

    @Test func keysThatComeFromElsewhereTellOfNoEndpoint() throws {
        let lines = "    jwks_uri: https://idp.example.com/keys\n    code_relay: "
        #expect(
            SampleFile.problems(SampleFile.adding(lines + "{}")) == [
                "test.yaml:11: identity_providers[0].code_relay: needs token_endpoint where keys do not come from a "
                    + "discovery document; write it"
            ])
        let relay = try relay(lines + "{ token_endpoint: https://idp.example.com/token }")
        #expect(relay?.tokenEndpoint?.string == "https://idp.example.com/token")
    }

    private static let url = "write a URL that begins with https:// and a host"

    @Test(arguments: [
        ("token_endpoint: /token", "token_endpoint: \(url)"),
        (
            "token_endpoint: http://idp.example.com/token",
            "token_endpoint: must begin with https:// (http only for a loopback host, with development: true)"
        ),
        ("revocation_endpoint: revoke", "revocation_endpoint: \(url)"),
        ("timeout: 31s", "timeout: must be from 1s to 30s"),
        ("timeout: 0s", "timeout: must be from 1s to 30s"),
        ("timeout: 5", "timeout: write a whole number and a unit, such as 90d, 12h, 30m or 60s"),
        ("at_once: 0", "at_once: write a whole number from 1 to 1000"),
        ("revoke_orphans: never", "revoke_orphans: write true or false, without quotes"),
        ("at_once: many", "at_once: write a whole number from 1 to 1000"),
        (
            "client_authentication: client_secret_post",
            "client_authentication: is for a secret, and there is none; write client_secret_file"
        ),
        ("client_secret_file: secret", "client_secret_file: write an absolute path, beginning with /"),
        (
            "client_secret_file: /nonexistent",
            "client_secret_file: cannot open the file: No such file or directory"
        ),
        (
            "client_secret: s3cret",
            "client_secret: is not a key of the configuration; known here: at_once, client_authentication, "
                + "client_secret_file, clients, idp_id_token, revocation_endpoint, revoke_orphans, timeout, token_endpoint"
        ),
    ])
    func whatDoesNotHold(_ line: String, _ words: String) {
        #expect(
            SampleFile.problems(SampleFile.adding("    code_relay: { \(line) }")) == [
                "test.yaml:10: identity_providers[0].code_relay.\(words)"
            ])
    }

    @Test(arguments: [
        (
            "{ client_id: orders }",
            "[0].client_secret_file: is missing; write it, or remove this client for the common secret"
        ),
        (
            "{ client_id: orders, client_secret_file: SECRET }, { client_id: orders, client_secret_file: SECRET }",
            "[1].client_id: is there twice; remove one of them"
        ),
    ])
    func whatDoesNotHoldOfOneClient(_ clients: String, _ words: String) throws {
        let secret = try TemporaryFile("s3cret")
        let line = "    code_relay: { clients: [\(clients.replacing("SECRET", with: secret.path))] }"
        #expect(
            SampleFile.problems(SampleFile.adding(line)) == [
                "test.yaml:10: identity_providers[0].code_relay.clients\(words)"
            ])
    }

    @Test func anUnknownMethodIsRefused() throws {
        let secret = try TemporaryFile("s3cret")
        let line = "    code_relay: { client_secret_file: \(secret.path), client_authentication: private_key_jwt }"
        #expect(
            SampleFile.problems(SampleFile.adding(line)) == [
                "test.yaml:10: identity_providers[0].code_relay.client_authentication: write one of "
                    + "client_secret_basic, client_secret_post"
            ])
    }

    @Test func aSecretThatOthersCanRead() throws {
        let secret = try TemporaryFile("s3cret", mode: 0o644)
        let problems = SampleFile.problems(
            SampleFile.adding("    code_relay: { client_secret_file: \(secret.path) }"))
        #expect(problems.count == 1 && problems.first?.contains("code_relay.client_secret_file: ") == true)
    }
}
