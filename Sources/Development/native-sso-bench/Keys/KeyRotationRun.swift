import BrokerHarness
import JOSE
import StrictCoding
import Synchronization
import TokenVerifier

/// Rotations of the signing key and of the refresh-token key under load.
///
/// Apps refresh at two brokers in turn, and each access token goes to a resource server. The resource servers keep the JWKS as its
/// headers say, and ask again for a key that they do not know, at most every half minute.
struct KeyRotationRun {
    let installation: MeasuredInstallation
    /// With one rotation or more.
    let keys: KeyOptions

    private static let (apps, resourceServers) = (24, 3)
    /// Between two refreshes of an app.
    private static let pause = Duration.milliseconds(100)

    private struct Seen {
        var refreshed = 0
        var unavailable = 0
        var refused = 0
        var unverified = 0
        var first: String?
        /// Of the tokens.
        var keys: Set<String> = []
    }

    func section() async throws -> Section {
        let base = installation.base
        let seen = Log()
        var figure = Figure(["rotations": .integer(keys.rotations)])
        let start = ProcessClock.monotonic
        try await base.withBroker { first in
            try await base.withBroker("second") { second in
                let logins = LoginFactory(
                    issuer: SampleApps.issuer, key: installation.key, source: SampleApps.source,
                    target: SampleApps.targets[0])
                let servers = try (0..<Self.resourceServers).map { number in
                    try verifier([first, second][number % 2])
                }
                var families: [TokenFamily] = []
                for _ in 0..<Self.apps { families.append(try await logins.family(at: first)) }
                try await withThrowingTaskGroup { group in
                    for (number, family) in families.enumerated() {
                        group.addTask {
                            try await Self.use(
                                family, logins, [first, second], servers[number % servers.count], seen)
                        }
                    }
                    defer { seen.isDone.store(true, ordering: .relaxed) }
                    try await rotate()
                    seen.isDone.store(true, ordering: .relaxed)
                    try await group.waitForAll()
                }
            }
        }
        let result = seen.state.withLock { $0 }
        let seconds = Double(ProcessClock.monotonic - start) / 1e9
        figure.add([.perSecond: Double(result.refreshed) / seconds])
        figure.count("requests", result.refreshed)
        figure.count("unavailable", result.unavailable)
        figure.count("refused_refreshes", result.refused)
        figure.count("failed_verifications", result.unverified)
        figure.count("wrong_answers", result.refused + result.unverified)
        figure.count("signing_keys", result.keys.count)
        figure.firstWrongAnswer = result.first
        return Section(
            "rotations",
            facts: [
                ("seconds_between", .integer(Int(keys.interval))), ("apps", .integer(Self.apps)),
                ("brokers", .integer(2)), ("resource_servers", .integer(Self.resourceServers)),
            ], figures: [figure])
    }

    private final class Log: Sendable {
        let state = Mutex(Seen())
        let isDone = Atomic(false)
    }

    private func verifier(_ broker: Broker) throws -> TokenVerifier {
        guard let loader = HTTPKeySetLoader("http://127.0.0.1:\(broker.internalPort)/.well-known/jwks.json") else {
            throw ManagedProcess.Failure(description: "the address of the key set is refused")
        }
        return TokenVerifier(
            issuer: SampleApps.broker, algorithms: [installation.algorithms.broker], loader: loader,
            policy: KeyCachePolicy(coolDown: .seconds(min(30, keys.interval / 2))))
    }

    private static func use(
        _ family: TokenFamily, _ logins: LoginFactory, _ brokers: [Broker], _ server: TokenVerifier,
        _ seen: Log
    ) async throws {
        var (token, turn) = (family.refreshToken, 0)
        while !seen.isDone.load(ordering: .relaxed) {
            try await Task.sleep(for: pause)
            turn += 1
            let answer = try await brokers[turn % brokers.count].token(logins.refresh(token))
            guard answer.status == 200, let access = answer.json?.string("access_token"),
                let next = answer.json?.string("refresh_token")
            else {
                seen.state.withLock { seen in
                    if answer.status == 503 { seen.unavailable += 1 } else { seen.refused += 1 }
                    seen.first = seen.first ?? "\(answer.status) \(answer.text.prefix(200))"
                }
                guard answer.status == 503 else { return }
                continue
            }
            token = next
            let kid = try CompactJWS(access).header.keyID
            do throws(VerificationError) {
                _ = try await server.verify(access, audience: SampleApps.audience)
                seen.state.withLock { seen in
                    seen.refreshed += 1
                    if let kid { seen.keys.insert(kid) }
                }
            } catch {
                seen.state.withLock { seen in
                    seen.unverified += 1
                    seen.first = seen.first ?? "\(error.code) for a token by \(kid ?? "no key")"
                }
            }
        }
    }

    /// A successor is published for half of the time, as an operator in a hurry would do it: `--force` does not wait for 24 hours.
    private func rotate() async throws {
        let base = installation.base
        let half = Duration.seconds(keys.interval / 2)
        for rotation in 1...keys.rotations {
            say("keys: rotation \(rotation) of \(keys.rotations)")
            for use in ["access-token", "refresh-token"] {
                try await base.command("key", "generate", "--use", use, "--reason", "rotation")
            }
            try await Task.sleep(for: half)
            let published = try await base.session().rows(
                "SELECT kid FROM native_sso.signing_key WHERE state = 'published' ORDER BY use")
            for kid in published {
                try await base.command("key", "activate", "--force", "--execute", "--reason", "rotation", "--", kid)
            }
            try await Task.sleep(for: half)
        }
    }
}
