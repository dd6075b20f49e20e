import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import JOSE
import PrivateCluster
import Synchronization
import Testing

/// The signer goes away under a running broker: no app loses its login.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SignerOutageTests {
    /// The signer is frozen, so that grants are committed whose answers cannot be made; then killed, and away for several
    /// grace periods. Apps retry the same token the whole time.
    @Test func aLongOutageUnderLoadCostsNoAppItsLogin() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let signer = try await SignerProcess(installation)
        let grace = 1
        try await installation.withBroker(
            "with-signer",
            {
                $0.signer = signer.socket; $0.unboundRefreshGrace = grace
            }
        ) {
            broker in
            var families: [TokenFamily] = []
            for _ in 0..<24 { families.append(try await logins.family(at: broker)) }
            let apps = RefreshingApps()
            let sql = try installation.session()
            try await withThrowingTaskGroup { group in
                for family in families { group.addTask { try await apps.refresh(family, logins, at: broker) } }
                group.addTask {
                    defer { apps.areDone.store(true, ordering: .relaxed) }
                    try await apps.untilGranted(200)
                    let marked =
                        "SELECT count(*) FROM native_sso.sso_grant WHERE rotated_at > now() + interval '1 hour'"
                    // The signer serves all apps in one turn: at some moments no grant waits for its answer.
                    _ = try await eventually("a grant whose answer could not be made") {
                        signer.process.signal(SIGSTOP)
                        try await apps.untilOutages(24)
                        if try await sql.row(marked) != "0" { return true }
                        signer.process.signal(SIGCONT)
                        try await apps.untilGranted(24)
                        return nil
                    }
                    signer.process.signal(SIGKILL)
                    _ = await signer.process.exitStatus
                    // Not a wait: the outage lasts for several grace periods.
                    try await Task.sleep(for: .seconds(3 * grace))
                    #expect(try await broker.get("/.well-known/jwks.json").status == 200)
                    #expect(apps.seen.withLock { $0.outages } > 24)
                    try await signer.restart()
                    try await apps.untilGranted(500)
                }
                try await group.waitForAll()
            }
            #expect(apps.seen.withLock { $0.others } == [])
            let revoked = "SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL"
            #expect(try await sql.row(revoked) == "0")
        }
    }

    /// Enrolments, exchanges and refreshes work, and the broker has no key file.
    @Test func theBrokerHoldsNoKey() async throws {
        let (installation, logins) = try await Installation.ofTwoApps()
        let family = try await installation.withBroker { broker in try await logins.family(at: broker) }
        let signer = try await SignerProcess(installation)
        try await installation.withBroker("with-signer", { $0.signer = signer.socket }) { broker in
            // The device digests and MACs are those of the same keys.
            let answer = try await broker.token(logins.refresh(family.refreshToken))
            let keys = try JSONWebKeySet(document: Array(try await broker.get("/.well-known/jwks.json").text.utf8))
            _ = try CompactJWS(try #require(answer.accessToken)).verified(by: keys, allowing: [.es256])
            #expect(try await broker.token(try logins.exchange(family.login)).status == 200)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(broker.pid)/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(broker.pid)/fd/\($0)")
            }
            #expect(!open.contains { $0.contains("/keys") })
            let maps = try String(contentsOfFile: "/proc/\(broker.pid)/cmdline", encoding: .utf8)
            #expect(!maps.contains("/keys"))
        }
    }
}
