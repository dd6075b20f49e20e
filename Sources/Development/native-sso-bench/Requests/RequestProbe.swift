import BrokerHarness
import JOSE
import StrictCoding

/// Sends a load to a broker, and says what it cost whom.
struct RequestProbe {
    let installation: MeasuredInstallation
    let broker: Broker
    private let keys: PublishedKeys

    init(_ installation: MeasuredInstallation, _ broker: Broker) async throws {
        self.installation = installation
        self.broker = broker
        keys = try await PublishedKeys(of: broker)
    }

    /// Loads the broker, checks a sample of the signatures, and counts the answers in `figure`.
    func measure(
        _ workload: inout some Workload, connections: Int, seconds: Double = 600, into figure: inout Figure
    ) async throws -> [Metric: Double] {
        let generator = LoadGenerator(port: broker.publicPort, connections: connections)
        let server = installation.cluster.processes
        let log = try await installation.cluster.walPosition()
        let before = try Usage(broker: broker.pid, server: server)
        let result = try generator.run(&workload, seconds: seconds)
        let after = try Usage(broker: broker.pid, server: server)
        let written = try await installation.cluster.walPosition() - log
        figure.count(result)
        figure.count("verified_signatures", try keys.verify(result.samples))
        let latencies = Latencies(microseconds: result.latencies)
        let count = Double(max(1, result.requests))
        let good = Double(result.requests - result.unavailable - result.wrongAnswers)
        return [
            .perSecond: good / max(result.seconds, 1e-9),
            .p50: latencies.milliseconds(at: 0.5), .p99: latencies.milliseconds(at: 0.99),
            .brokerCPU: Double(after.broker - before.broker) / 1000 / count,
            .postgresqlCPU: Double(after.postgresql - before.postgresql) / 1000 / count,
            .walOctets: Double(written) / count,
            .residentKiB: Double(try ProcessStatus.kibibytes("VmRSS", of: broker.pid)),
        ]
    }
}

/// The broker's key set, to check a sample of its signatures with.
struct PublishedKeys {
    private let keys: JSONWebKeySet

    init(of broker: Broker) async throws {
        keys = try JSONWebKeySet(document: try await broker.get("/.well-known/jwks.json").body)
    }

    /// - Returns: How many there were; throws at the first that does not verify.
    func verify(_ tokens: [String]) throws -> Int {
        for token in tokens {
            let jws = try CompactJWS(token)
            let verified = try jws.verified(by: try keys.key(for: jws.header))
            guard jws.header.type == "at+jwt", verified.claims.contains("client_id") else {
                throw ManagedProcess.Failure(description: "the answer holds no access token")
            }
        }
        return tokens.count
    }
}
