import BrokerHarness
import Glibc
import StrictCoding

/// Repeated exchanges by a broker with key files, and by one that has a signer process sign.
struct SignerRun {
    let installation: MeasuredInstallation
    let options: LoadOptions
    let connections: Int

    private static let logins = 2000

    func section() async throws -> Section {
        let signer = try await SignerProcess(installation.base)
        let logins = try await SignedLogins.make(
            (0..<Self.logins).map { _ in Login.new() }, key: installation.key, at: Int64(time(nil)))
        let figures = try await installation.base.withBroker { files in
            try await installation.base.withBroker("signed", { $0.signer = signer.socket }) { signed in
                try await measured(files, signed, signer, logins)
            }
        }
        signer.process.kill()
        return Section(
            "signer", facts: [("connections", .integer(connections)), ("logins", .integer(Self.logins))],
            figures: figures)
    }

    private func measured(
        _ files: Broker, _ signed: Broker, _ signer: SignerProcess, _ logins: SignedLogins
    ) async throws -> [Figure] {
        var figures = ["files", "signer"].map { Figure(["keys": .string($0)]) }
        let probes = [
            try await RequestProbe(installation, files), try await RequestProbe(installation, signed),
        ]
        var workload = Exchanges(logins, apps: [SampleApps.targets[0]], range: 0..<Int.max)
        for (index, probe) in probes.enumerated() {
            _ = try await probe.measure(
                &workload, connections: connections, LoadLimit(seconds: 600, requests: logins.count),
                into: &figures[index])
        }
        for round in 1...options.rounds {
            say("keys: exchanges with a signer, round \(round)")
            var whole: [Double] = []
            for (index, probe) in probes.enumerated() {
                let before = ProcessClock.nanoseconds(of: signer.process.pid) ?? 0
                let requests = figures[index].count("requests")
                var measured = try await probe.measure(
                    &workload, connections: connections, LoadLimit(seconds: options.seconds), into: &figures[index])
                let count = Double(max(figures[index].count("requests") - requests, 1))
                let after = ProcessClock.nanoseconds(of: signer.process.pid) ?? 0
                measured[.signerCPU] = Double(after - before) / 1000 / count
                whole.append(
                    [Metric.brokerCPU, .postgresqlCPU, .signerCPU].reduce(0) { $0 + (measured[$1] ?? 0) })
                if index == 1 { measured[.signerCost] = whole[1] - whole[0] }
                figures[index].add(measured)
            }
        }
        return figures
    }
}
