import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import Testing

private enum SoftHSM {
    static let module = "/usr/lib/softhsm/libsofthsm2.so"
    static let isInstalled = FileManager.default.fileExists(atPath: module)
}

/// Signing keys in a PKCS#11 token.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SoftHSM.isInstalled, "SoftHSM2 is not installed"))
struct KeyTokenTests {
    /// The token goes away under a running broker and comes back: no app loses its login.
    @Test func anOutageOfTheTokenAdvancesNothing() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let tokens = installation.file("tokens")
        try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: false)
        try installation.write("directories.tokendir = \(tokens)\n", to: "softhsm2.conf")
        try installation.write("4321\n", to: "pin")
        let environment = [
            "SOFTHSM2_CONF": installation.file("softhsm2.conf"), "NATIVE_SSO_KEYS_PKCS11_MODULE": SoftHSM.module,
            "NATIVE_SSO_KEYS_PKCS11_TOKEN": "test", "NATIVE_SSO_KEYS_PKCS11_PIN_FILE": installation.file("pin"),
        ]
        _ = try await ManagedProcess.output(
            of: "/usr/bin/softhsm2-util",
            ["--init-token", "--free", "--label", "test", "--so-pin", "12345678", "--pin", "4321"],
            environment: environment)
        let made = try await installation.run(
            ["key", "generate", "--use", "access-token", "--algorithm", "ES384"], environment: environment)
        #expect(made.status == 0, "\(made.errors)")
        let sql = try installation.session()
        try await sql.rows(
            "UPDATE native_sso.signing_key SET state = 'active', activated_at = now() WHERE algorithm = 'ES384'")
        try await installation.command(
            "client", "update", "app-two", "--signing-algorithm", "ES384", "--execute", "--reason", "test")

        try await installation.withBroker(environment: environment) { broker in
            let family = try await logins.family(at: broker)
            let first = try #require(try await broker.token(logins.refresh(family.refreshToken)).accessToken)
            let token = try CompactJWS(first)
            let keys = try JSONWebKeySet(
                document: Array(try await broker.get("/.well-known/jwks.json").text.utf8))
            _ = try token.verified(by: keys, allowing: [.es384])

            try FileManager.default.moveItem(atPath: tokens, toPath: tokens + ".aside")
            // One call may find out after it wrote: its answer is lost, and a repetition gets the same successor.
            let outage = try await eventually("an answer without the token") {
                let answer = try await broker.token(try logins.exchange(logins.login()))
                return answer.status == 200 ? nil : answer
            }
            #expect(outage.isOutage, "\(outage.text)")
            let spare = try await sql.rows("SELECT count(*), sum(generation) FROM native_sso.sso_grant")
            for _ in 0..<20 {
                #expect(try await broker.token(try logins.exchange(logins.login())).isOutage)
                #expect(try await broker.token(logins.refresh(family.refreshToken)).isOutage)
            }
            #expect(try await sql.rows("SELECT count(*), sum(generation) FROM native_sso.sso_grant") == spare)

            try FileManager.default.moveItem(atPath: tokens + ".aside", toPath: tokens)
            let answer = try await broker.settledToken(try logins.exchange(logins.login()))
            #expect(answer.status == 200, "\(answer.text)")
        }
    }
}
