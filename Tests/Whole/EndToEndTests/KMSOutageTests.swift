import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import PrivateCluster
import Synchronization
import Testing

/// All keys are in AWS KMS, and the broker has no key directory. KMS goes away under it: no app loses its login.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: KMSProcess.isInstalled, "moto is not here: deploy/packages --tests gets it from PyPI"))
struct KMSOutageTests {
    private struct Fixture {
        let kms: KMSProcess
        let installation: Installation
        let logins: LoginFactory
    }

    private func withKMS(_ body: (Fixture) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "kms-\(Unguessable.make().prefix(12))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let kms = try await KMSProcess(in: directory)
        let credentials = directory.appending(path: "credentials")
        let (access, secret) = KMSProcess.credentials
        try Data("[default]\naws_access_key_id = \(access)\naws_secret_access_key = \(secret)\n".utf8).write(
            to: credentials)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: credentials.path)
        let environment = [
            "NATIVE_SSO_DEVELOPMENT": "true", "NATIVE_SSO_KEYS_KMS_REGION": KMSProcess.region,
            "NATIVE_SSO_KEYS_KMS_ENDPOINT": kms.endpoint,
            "NATIVE_SSO_KEYS_KMS_CREDENTIALS_FILE": credentials.path,
            "NATIVE_SSO_KEYS_KMS_WRAPPING_KEY": kms.wrappingKey,
        ]
        let (installation, logins) = try await FaultFixture.install(environment: environment)
        try await body(Fixture(kms: kms, installation: installation, logins: logins))
    }

    @Test func theBrokerHoldsNoKeyFile() async throws {
        try await withKMS { fixture in
            let keys = try await fixture.installation.command("key", "doctor")
            #expect(keys.contains("in AWS KMS") && keys.contains("wrapped by AWS KMS"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.installation.file("keys")).isEmpty)
            try await fixture.installation.withBroker { broker in
                let family = try await fixture.logins.family(at: broker)
                let document = Array(try await broker.get("/.well-known/jwks.json").text.utf8)
                _ = try CompactJWS(family.accessToken).verified(
                    by: try JSONWebKeySet(document: document), allowing: [.es256])
                #expect(try await broker.get("/metrics").text.contains(#"provider="aws-kms""#))
                let log = broker.process.errors
                #expect(!log.contains(KMSProcess.credentials.secretKey) && !log.contains("wrapped:"))
            }
        }
    }

    /// Slow beyond the deadline first, so that grants are committed whose answers cannot be made; then throttled, then gone, for
    /// several grace periods. Apps retry the same token the whole time.
    @Test func aLongOutageUnderLoadCostsNoAppItsLogin() async throws {
        try await withKMS { fixture in
            let grace = 1
            try await fixture.installation.withBroker("with-kms", { $0.unboundRefreshGrace = grace }) { broker in
                var families: [TokenFamily] = []
                for _ in 0..<12 { families.append(try await fixture.logins.family(at: broker)) }
                let apps = RefreshingApps()
                let sql = try fixture.installation.session()
                try await withThrowingTaskGroup { group in
                    for family in families {
                        group.addTask { try await apps.refresh(family, fixture.logins, at: broker) }
                    }
                    group.addTask {
                        defer { apps.areDone.store(true, ordering: .relaxed) }
                        try await apps.untilGranted(50)
                        try fixture.kms.fail(with: .slow(seconds: 4))
                        let marked =
                            "SELECT count(*) FROM native_sso.sso_grant WHERE rotated_at > now() + interval '1 hour'"
                        _ = try await eventually("a grant whose answer could not be made") {
                            Int(try await sql.row(marked)).flatMap { $0 > 0 ? true : nil }
                        }
                        for fault in [KMSProcess.Fault.throttled, .dropped, .garbage] {
                            try fixture.kms.fail(with: fault)
                            // Not a wait: the outage lasts for several grace periods.
                            try await Task.sleep(for: .seconds(grace))
                        }
                        #expect(try await broker.get("/.well-known/jwks.json").status == 200)
                        #expect(try await broker.readiness() == 200)
                        #expect(apps.seen.withLock { $0.outages } > 12)
                        try fixture.kms.fail(with: nil)
                        try await apps.untilGranted(100)
                    }
                    try await group.waitForAll()
                }
                #expect(apps.seen.withLock { $0.others } == [])
                let revoked = "SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL"
                #expect(try await sql.row(revoked) == "0")
            }
        }
    }

    @Test func aBrokerThatStartsWithoutKMSFindsItLater() async throws {
        try await withKMS { fixture in
            try fixture.kms.fail(with: .dropped)
            let broker = try fixture.installation.startBroker("early")
            try await broker.untilAlive()
            #expect(try await broker.process.errorLine(containing: "AWS KMS cannot be reached") != nil)
            #expect(try await broker.readiness() == 503)
            try fixture.kms.fail(with: nil)
            try await broker.untilReady()
            #expect(try await broker.token(try fixture.logins.exchange(fixture.logins.login())).status == 200)
            try await broker.stop()
        }
    }
}
