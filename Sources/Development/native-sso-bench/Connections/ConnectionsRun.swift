import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import NIOCore
import NIOSSL
import StrictCoding

/// What idle connections cost: a broker's resident memory before them, with them, and without them again.
struct ConnectionsRun {
    let installation: MeasuredInstallation
    let options: LoadOptions
    let idle: Int

    private static let patience = Duration.seconds(60)
    private static let logins = 1000

    private enum Transport: String, CaseIterable {
        case plain, tls
    }

    private enum State: String, CaseIterable {
        /// There is none yet.
        case none
        case silent
        /// Each has exchanged once.
        case afterRequest = "after_request"
        /// All were closed.
        case gone
    }

    func section() async throws -> Section {
        try OpenFiles.allow(idle)
        var section = Section("connections", facts: [("idle", .integer(idle))])
        let certificate = try TestCertificate.current()
        let files = try installation.base.write(certificate)
        for transport in Transport.allCases {
            let tls = transport == .tls ? try Self.client(trusting: certificate) : nil
            var figures = State.allCases.map {
                Figure(["transport": .string(transport.rawValue), "connections": .string($0.rawValue)])
            }
            for round in 1...options.rounds {
                say("connections: \(transport.rawValue), round \(round)")
                for state in [State.silent, .afterRequest] {
                    // A broker of its own, for memory has a history.
                    try await installation.base.withBroker(
                        "loaded", environment: ["NATIVE_SSO_PUBLIC_MAX_CONNECTIONS": String(idle + 256)],
                        { $0.tls = tls == nil ? nil : files }
                    ) { try await measure(state, $0, tls, into: &figures) }
                }
            }
            section.figures += figures
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

    private func measure(
        _ state: State, _ broker: Broker, _ tls: NIOSSLContext?, into figures: inout [Figure]
    ) async throws {
        let logins = try await SignedLogins.make(
            (0..<Self.logins).map { _ in Login.new() }, key: installation.key, at: Int64(time(nil)))
        let head = logins.heads([SampleApps.targets[0]])[0]
        // What the first requests cost once and for all.
        let warmUp = try await Crowd.gather(256, port: broker.publicPort, tls) {
            ByteBuffer(bytes: head + Array(logins[$0]))
        }
        await warmUp.disperse()
        let before = try await settled(broker, connections: 0)
        let crowd = try await Crowd.gather(idle, port: broker.publicPort, tls) { index in
            state == .silent ? nil : ByteBuffer(bytes: head + Array(logins[index % logins.count]))
        }
        let with = try await settled(broker, connections: idle)
        let isWhole = crowd.count == idle
        await crowd.disperse()
        let after = try await settled(broker, connections: 0)
        func add(_ state: State, _ round: [Metric: Double]) {
            guard let index = State.allCases.firstIndex(of: state) else { return }
            figures[index].add(round)
            figures[index].count("wrong_answers", isWhole ? 0 : 1)
            if !isWhole { figures[index].firstWrongAnswer = "connections were closed that should be idle" }
        }
        add(.none, [.residentKiB: Double(before)])
        add(state, [.residentKiB: Double(with)])
        add(.gone, [.residentKiB: Double(after)])
    }

    /// Resident memory when the broker has so many connections and its memory stays as it is.
    private func settled(_ broker: Broker, connections count: Int) async throws -> Int64 {
        var last: Int64 = 0
        return try await eventually(
            "the broker has \(count) connections, and its memory stays as it is", within: Self.patience,
            every: .milliseconds(250)
        ) {
            let size = try ProcessStatus.kibibytes("VmRSS", of: broker.pid)
            guard try await openConnections(of: broker) == count else { return nil }
            defer { last = size }
            return abs(size - last) * 200 < size ? size : nil
        }
    }

    /// By `/metrics`.
    private func openConnections(of broker: Broker) async throws -> Int? {
        let line = try await broker.get("/metrics").text.split(separator: "\n").first {
            $0.hasPrefix("native_sso_connections ")
        }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }
}

/// How many files, connections included, this program and those that it starts may have open.
private enum OpenFiles {
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
                    + "raise that (ulimit -Hn) or ask for fewer (--idle)")
        }
    }
}
