import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import NIOCore
import NIOSSL
import PrivateCluster
import StrictCoding

/// What connections cost that do nothing, and what those that mean harm do to the others.
struct ConnectionsRun {
    let installation: MeasuredInstallation
    let options: LoadOptions
    let connections: ConnectionOptions

    private static let patience = Duration.seconds(60)
    private static let logins = 1000
    /// Of an honest load.
    private static let clients = 4

    func section() async throws -> Section {
        try OpenFiles.allow(max(connections.idle, connections.attackers))
        var section = Section(
            "connections",
            facts: [
                ("clients", .integer(Self.clients)), ("requests_per_second", .integer(connections.rate)),
                ("attack_seconds", .integer(connections.attackSeconds)),
            ])
        let certificate = try TestCertificate.current()
        _ = try installation.base.write(certificate)
        for transport in connections.transports {
            let tls = transport == .tls ? try Self.client(trusting: certificate) : nil
            var figures = IdleState.allCases.map {
                Figure(["transport": .string(transport.rawValue), "connections": .string($0.rawValue)])
            }
            var (alone, attacked) = (
                attackFigure(transport, attackers: 0), attackFigure(transport, attackers: connections.attackers)
            )
            for round in 1...options.rounds {
                say("connections: \(transport.rawValue), round \(round)")
                if connections.idle > 0 { try await idle(tls, into: &figures) }
                if connections.attackers > 0 { try await attack(tls, &alone, &attacked) }
            }
            if connections.idle > 0 { section.figures += figures }
            if connections.attackers > 0 { section.figures += [alone, attacked] }
        }
        return section
    }

    private static func client(trusting certificate: TestCertificate) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(certificate.certificate.utf8)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }

    private func attackFigure(_ transport: Transport, attackers: Int) -> Figure {
        Figure([
            "transport": .string(transport.rawValue),
            "connections": .string(attackers == 0 ? "no_attacker" : "\(attackers)_attackers"),
        ])
    }

    /// A broker of its own, for memory has a history.
    private func withBroker<Value>(
        _ tls: NIOSSLContext?, _ body: (Broker, Peer) async throws -> Value
    ) async throws -> Value {
        let environment = [
            "NATIVE_SSO_PUBLIC_MAX_CONNECTIONS": String(max(connections.idle, connections.attackers) + 256)
        ]
        let files = (certificate: installation.base.file("tls.pem"), key: installation.base.file("tls.key"))
        return try await withOwnEventLoop { loop in
            try await installation.base.withBroker(
                "loaded", environment: environment, { $0.tls = tls == nil ? nil : files }
            ) { broker in
                try await body(broker, Peer(eventLoop: loop, port: broker.publicPort, tls: tls))
            }
        }
    }

    // MARK: Idle ones

    private func idle(_ tls: NIOSSLContext?, into figures: inout [Figure]) async throws {
        let logins = try await SignedLogins.make(
            (0..<Self.logins).map { _ in Login.new() }, key: installation.key, at: Int64(time(nil)))
        let head = logins.heads([SampleApps.targets[0]])[0]
        for state in [IdleState.silent, .afterRequest] {
            try await withBroker(tls) { broker, peer in
                // What the first requests cost once and for all.
                let warmUp = try await Crowd.gather(256, peer) { ByteBuffer(bytes: head + Array(logins[$0])) }
                await warmUp.disperse()
                let before = try await settled(broker, connections: 0)
                let crowd = try await Crowd.gather(connections.idle, peer) { index in
                    state == .silent ? nil : ByteBuffer(bytes: head + Array(logins[index % logins.count]))
                }
                let with = try await settled(broker, connections: connections.idle)
                let isWhole = crowd.count == connections.idle
                await crowd.disperse()
                let after = try await settled(broker, connections: 0)
                let each = Double(with - before) / Double(max(1, connections.idle))
                func add(_ state: IdleState, _ round: [Metric: Double]) {
                    guard let index = IdleState.allCases.firstIndex(of: state) else { return }
                    figures[index].add(round)
                    figures[index].count("wrong_answers", isWhole ? 0 : 1)
                    if !isWhole { figures[index].firstWrongAnswer = "connections were closed that should be idle" }
                }
                add(.none, [.residentKiB: Double(before)])
                add(state, [.connections: Double(connections.idle), .residentKiB: Double(with), .kibibytesEach: each])
                add(.gone, [.residentKiB: Double(after)])
            }
        }
    }

    /// Resident memory when the broker has so many connections and its memory stays as it is.
    private func settled(_ broker: Broker, connections count: Int) async throws -> Int64 {
        let deadline = ContinuousClock.now + Self.patience
        var last: Int64 = 0
        while ContinuousClock.now < deadline {
            let open = try await BrokerGauge.value("connections", of: broker)
            let size = try ProcessStatus.kibibytes("VmRSS", of: broker.pid)
            if open == count, abs(size - last) * 200 < size { return size }
            last = open == count ? size : 0
            try await Task.sleep(for: .milliseconds(250))
        }
        let open = try await BrokerGauge.value("connections", of: broker)
        throw ManagedProcess.Failure(description: "the broker has \(open) connections where there should be \(count)")
    }

    // MARK: Hostile ones

    private func attack(_ tls: NIOSSLContext?, _ alone: inout Figure, _ attacked: inout Figure) async throws {
        let logins = try await SignedLogins.make(
            (0..<Self.logins).map { _ in Login.new() }, key: installation.key, at: Int64(time(nil)))
        let (quiet, hostile) = try await withBroker(tls) { broker, peer in
            // The attackers must not keep the honest client's own thread busy.
            try await withOwnEventLoop { loop in
                try await attack(
                    broker, peer, Peer(eventLoop: loop, port: peer.port, tls: peer.tls), logins, &alone, &attacked)
            }
        }
        alone.add(quiet)
        var round = hostile
        for (metric, ratio) in [(Metric.p50, Metric.p50Ratio), (.p99, .p99Ratio)] {
            round[ratio] = (hostile[metric] ?? 0) / max(quiet[metric] ?? 0, 1e-6)
        }
        attacked.add(round)
    }

    private func attack(
        _ broker: Broker, _ honest: Peer, _ hostile: Peer, _ logins: SignedLogins, _ alone: inout Figure,
        _ attacked: inout Figure
    ) async throws -> ([Metric: Double], [Metric: Double]) {
        var workload = Exchanges(logins, apps: [SampleApps.targets[0]], range: 0..<Int.max)
        var warmUp = Figure([:])
        _ = try await load(&workload, broker, honest, seconds: 2, &warmUp)
        let seconds = Double(connections.attackSeconds)
        let quiet = try await load(&workload, broker, honest, seconds: min(seconds, 20), &alone)
        let attackers = Attackers(connections.attackers, hostile)
        attackers.begin(within: seconds)
        let attacking = try await ending {
            var round = try await load(&workload, broker, honest, seconds: seconds, &attacked)
            round[.connections] = Double(attackers.connected)
            return round
        } with: {
            await attackers.end()
        }
        for (attack, count) in attackers.counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            attacked.count("opened_\(attack.rawValue)", count.opened)
            attacked.count("shed_\(attack.rawValue)", count.shed)
        }
        return (quiet, attacking)
    }

    private func load(
        _ workload: inout Exchanges, _ broker: Broker, _ peer: Peer, seconds: Double, _ figure: inout Figure
    ) async throws -> [Metric: Double] {
        let server = installation.cluster.processes
        let before = try Usage(broker: broker.pid, server: server)
        let (after, result) = try await SteadyLoad.run(
            workload, peer, connections: Self.clients, perSecond: connections.rate,
            until: LoadEnd(after: seconds))
        let usage = try Usage(broker: broker.pid, server: server)
        workload = after
        figure.count(result)
        figure.count(
            "verified_signatures", try await PublishedKeys(of: broker).verify(result.samples))
        let latencies = Latencies(microseconds: result.latencies)
        return [
            .perSecond: Double(result.requests) / max(result.seconds, 1e-9),
            .p50: latencies.milliseconds(at: 0.5), .p99: latencies.milliseconds(at: 0.99),
            .worst: latencies.milliseconds(at: 1),
            .brokerProcessors: Double(usage.broker - before.broker) / Double(max(1, usage.instant - before.instant)),
            .residentKiB: Double(try ProcessStatus.kibibytes("VmRSS", of: broker.pid)),
            .elsewhere: usage.elsewhere(since: before),
        ]
    }
}

/// What idle connections have done so far.
enum IdleState: String, CaseIterable {
    /// There is none yet.
    case none
    case silent
    /// Each has exchanged once.
    case afterRequest = "after_request"
    /// All were closed.
    case gone
}

enum Transport: String, CaseIterable, Sendable {
    case plain
    case tls
}

/// One number of `/metrics`.
enum BrokerGauge {
    static func value(_ name: String, of broker: Broker) async throws -> Int {
        let line = try await broker.get("/metrics").text.split(separator: "\n").first {
            $0.hasPrefix("native_sso_\(name) ")
        }
        return line.flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? -1
    }
}

/// How many files, connections included, this program and those that it starts may have open.
enum OpenFiles {
    /// Beside the connections that are measured.
    private static let others: UInt = 512

    /// Raises the limit as far as the system lets it.
    static func allow(_ connections: Int) throws {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let needed = UInt(connections) + others
        if getrlimit(kind, &limit) == 0, limit.rlim_cur < needed {
            // Only root may raise the hard limit.
            var wider = rlimit(rlim_cur: max(needed, limit.rlim_max), rlim_max: max(needed, limit.rlim_max))
            if setrlimit(kind, &wider) != 0 {
                limit.rlim_cur = limit.rlim_max
                setrlimit(kind, &limit)
            }
            getrlimit(kind, &limit)
        }
        guard limit.rlim_cur >= needed else {
            throw ManagedProcess.Failure(
                description: "\(connections) connections need \(needed) open files, and \(limit.rlim_cur) are allowed: "
                    + "raise that (ulimit -Hn) or ask for fewer (--idle, --attackers)")
        }
    }
}
