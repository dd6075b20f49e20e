import BrokerHarness
import Glibc
import JOSE
import StrictCoding

/// Exchanges and refreshes of many logins at one broker.
struct RequestRun {
    private let probe: RequestProbe
    private let logins: SignedLogins
    private let families: TokenFamilies
    /// How far the first exchanges of each app got, which none repeats, and how far the others.
    private var newGrants: Int
    private var position = 0
    private let proofKeys: ProofKeys?
    private var proven = 0

    /// More than any broker answers in a second.
    private static let proofsPerSecond = 10_000.0

    /// - Parameter count: Many more than connections, so that requests do not meet on one row.
    /// - Parameter isProving: Whether one app is to show keys.
    init(_ probe: RequestProbe, logins count: Int, isProving: Bool, at now: Int64) async throws {
        self.probe = probe
        proofKeys = isProving ? try ProofKeys(count: count) : nil
        logins = try await SignedLogins.make(
            (0..<count).map { _ in Login.new() }, key: probe.installation.key, at: now)
        families = TokenFamilies(count: logins.count)
        newGrants = logins.count
    }

    func figure(_ kind: RequestKind, connections: Int) -> Figure {
        Figure([
            "identity_provider": .string(probe.installation.algorithms.provider.rawValue),
            "broker": .string(probe.installation.algorithms.broker.rawValue),
            "kind": .string(kind.rawValue), "connections": .integer(connections),
        ])
    }

    /// Brings in all logins: a part to warm up, then one for each round.
    func bringInLogins(rounds: Int, connections: Int) async throws -> Figure {
        var figure = figure(.newLogin, connections: connections)
        let parts = rounds + 1
        for part in 0..<parts {
            let range = logins.count * part / parts..<logins.count * (part + 1) / parts
            var workload = Exchanges(logins, apps: SampleApps.targets, range: range, families: families)
            var warmUp = Figure([:])
            if part == 0 {
                _ = try await probe.measure(&workload, connections: connections, into: &warmUp)
                figure.adoptFailures(of: warmUp)
            } else {
                let round = try await probe.measure(&workload, connections: connections, into: &figure)
                figure.add(try await compared(round, .newLogin))
            }
        }
        return figure
    }

    /// The first exchanges of the app that shows keys: from here on each is a repeated one.
    func bringInKeys(connections: Int) async throws -> Figure {
        var figure = figure(.proven, connections: connections)
        guard proofKeys != nil else { return figure }
        // A proof is good for a minute.
        for first in stride(from: 0, to: logins.count, by: 20_000) {
            var workload = try await provenExchanges(min(20_000, logins.count - first), from: first)
            _ = try await probe.measure(&workload, connections: connections, into: &figure)
        }
        return figure
    }

    private func provenExchanges(_ count: Int, from first: Int) async throws -> ProvenExchanges {
        let heads = try await proofKeys?.heads(
            count, from: first, of: logins, app: SampleApps.proving, at: Int64(time(nil)))
        return ProvenExchanges(logins, heads: heads ?? [], from: first)
    }

    /// One round of a kind other than new logins.
    mutating func round(
        _ kind: RequestKind, connections: Int, seconds: Double, into figure: inout Figure
    ) async throws {
        let round: [Metric: Double]
        switch kind {
        case .newLogin, .newGrant:
            var workload = Exchanges(logins, apps: SampleApps.targets, range: newGrants..<Int.max)
            round = try await probe.measure(&workload, connections: connections, seconds: seconds, into: &figure)
            newGrants = workload.position
            // A round that ran out of requests would count for less than it is.
            guard newGrants < logins.count * SampleApps.targets.count else {
                throw ManagedProcess.Failure(
                    description: "every app has exchanged each of the \(logins.count) logins: give --logins more")
            }
        case .repeated:
            var workload = Exchanges(
                logins, apps: [SampleApps.targets[0]], range: position..<Int.max, families: families)
            round = try await probe.measure(&workload, connections: connections, seconds: seconds, into: &figure)
            position = workload.position % logins.count
        case .proven:
            var workload = try await provenExchanges(Int(seconds * Self.proofsPerSecond), from: proven)
            round = try await probe.measure(&workload, connections: connections, seconds: seconds, into: &figure)
            proven = workload.position % logins.count
        case .refresh:
            var workload = Refreshes(families, app: SampleApps.targets[0], from: position)
            round = try await probe.measure(&workload, connections: connections, seconds: seconds, into: &figure)
            position = workload.position
        }
        figure.add(try await compared(round, kind))
    }

    /// Measures what the signatures cost right after the requests, at the speed that the machine has now.
    private func compared(_ round: [Metric: Double], _ kind: RequestKind) async throws -> [Metric: Double] {
        let algorithms = probe.installation.algorithms
        let verified: [SignatureAlgorithm] =
            (kind.isExchange ? [algorithms.provider] : []) + (kind == .proven ? [.es256] : [])
        let raw = try await RawCryptography.measured(Set(verified + [algorithms.broker]))
            .microseconds(verifying: verified, signing: algorithms.broker)
        var round = round
        round[.cryptography] = raw
        round[.cryptographyRatio] = (round[.brokerCPU] ?? 0) / raw
        return round
    }
}

/// A grant as the broker's database sees it.
enum RequestKind: String, CaseIterable, Sendable {
    /// An exchange at first sight: session, device, grant and audit rows are inserted.
    case newLogin = "new_login"
    /// The first exchange by an app of a login that is known: grant and audit rows are inserted.
    case newGrant = "new_grant"
    /// One more exchange by the same app: the grant is advanced, an audit row inserted.
    case repeated
    /// The same by an app that shows a key (DPoP), with a proof for each: two signatures to verify, and one more row is inserted.
    case proven = "repeated_dpop"
    /// The grant is advanced.
    case refresh

    var isExchange: Bool { self != .refresh }
}
