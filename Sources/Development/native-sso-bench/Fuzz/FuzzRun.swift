import BrokerHarness
import BrokerTesting
import StrictCoding

/// Bent requests at a broker of its own: how many, how it answered, and how it was afterwards.
struct FuzzRun {
    /// KiB by which a broker may grow after the first tenth, whatever comes.
    static let allowedGrowth = 64 * 1024.0

    let installation: MeasuredInstallation
    let fuzz: FuzzOptions

    func section() async throws -> Section {
        let credentials = try await FuzzMaterial.register(in: installation)
        let codes = FuzzCodes()
        let provider = try StubIdentityProvider(keys: [installation.key])
        provider.token { [key = installation.key] in codes.reply(to: $0, by: key) }
        let certificate = try TestCertificate.current()
        let files = try installation.base.write(certificate)
        // Apps bring logins and codes to the broker, too.
        func allowEnrolment(_ configuration: inout BrokerConfiguration) {
            configuration.providers[0].enrolsByExchange = true
            configuration.providers[0].codeRelay =
                "{ token_endpoint: \"http://127.0.0.1:\(provider.port)/token\", at_once: 1000 }"
        }
        return try await installation.base.withBroker("clear", allowEnrolment) { broker in
            try await installation.base.withBroker(
                "secured",
                {
                    allowEnrolment(&$0)
                    $0.tls = files
                }
            ) { secured in
                let tunnel = try await TLSTunnel(
                    to: secured.publicPort, trusting: certificate.certificate, speaking: "h2")
                let material = try FuzzMaterial(installation, credentials, codes: codes, port: broker.publicPort)
                let load = FuzzLoad(
                    forge: RequestForge(seed: fuzz.seed, material: material),
                    ports: [
                        .http1: broker.publicPort, .lone: broker.publicPort, .internal: broker.internalPort,
                        .http2: tunnel.port, .loneFrames: tunnel.port,
                    ], connections: fuzz.connections)
                let section = try await section(load, [broker, secured])
                withExtendedLifetime((provider, tunnel)) {}
                return section
            }
        }
    }

    /// - Parameter brokers: One in the clear, one over TLS.
    private func section(_ load: FuzzLoad, _ brokers: [Broker]) async throws -> Section {
        var result = FuzzLoad.Result()
        var figure = Figure(["seed": .integer(fuzz.seed), "first": .integer(fuzz.first)])
        var warm = 0.0
        let start = ProcessClock.monotonic
        let end = fuzz.first + fuzz.requests
        let portion = max(1, fuzz.requests / 10)
        for first in stride(from: fuzz.first, to: end, by: portion) {
            let numbers = first..<min(first + portion, end)
            var part = try load.run(numbers)
            if part.requests < numbers.count {
                part.note(FuzzLoad.Finding(fault: "\(numbers.count - part.requests) requests were not answered"))
            }
            for finding in part.findings { say(finding.description(seed: fuzz.seed)) }
            result.add(part)
            let resident = Double(try Self.resident(brokers))
            if warm == 0 { warm = resident }
            say("fuzz: \(result.requests) requests, \(result.count) findings, \(Int(resident)) KiB")
            figure.add([.residentKiB: resident])
        }
        let seconds = Double(ProcessClock.monotonic - start) / 1e9
        let resident = Double(try Self.resident(brokers))
        let afterwards = try judge(load, growth: resident - warm)
        for finding in afterwards.findings { say("afterwards, \(finding.description(seed: fuzz.seed))") }
        figure.count("requests", result.requests)
        for (status, count) in result.answers.sorted(by: { $0.key < $1.key }) {
            figure.count("status_\(status)", count)
        }
        figure.count("reasons", try await Self.reasons(of: brokers))
        figure.count("growth_kib", Int(resident - warm))
        figure.count("milliseconds", Int(seconds * 1000))
        figure.count("wrong_answers", result.count + afterwards.count)
        figure.firstWrongAnswer = (result.findings + afterwards.findings).first?.fault
        return Section("fuzz", figures: [figure])
    }

    private static func resident(_ brokers: [Broker]) throws -> Int64 {
        try brokers.reduce(0) { $0 + (try ProcessStatus.kibibytes("VmRSS", of: $1.pid)) }
    }

    /// For how many different reasons the brokers have refused: how far into them the requests got.
    private static func reasons(of brokers: [Broker]) async throws -> Int {
        var reasons: Set<Substring> = []
        for broker in brokers {
            let lines = try await broker.get("/metrics").text.split(separator: "\n").filter {
                $0.contains("refusals_total{") && !$0.hasSuffix(" 0")
            }
            reasons.formUnion(lines.map { $0.prefix { $0 != " " } })
        }
        return reasons.count
    }

    /// What must hold after all of it: good requests are granted, and the brokers have not grown.
    private func judge(_ load: FuzzLoad, growth: Double) throws -> FuzzLoad.Result {
        var requests = try load.forge.goodRequests(from: fuzz.first + fuzz.requests)[...]
        var result = try load.run { requests.popFirst() }
        if growth > Self.allowedGrowth { result.note(FuzzLoad.Finding(fault: "grown by \(Int(growth)) KiB")) }
        return result
    }
}

extension FuzzLoad.Finding {
    /// For the one who has to look into it.
    func description(seed: UInt64) -> String {
        var text = "finding: \(fault)"
        if let request {
            text +=
                "\nagain: deploy/fuzz --http 1 --seed \(seed) --first \(request.number) (\(request.transport.rawValue))\n"
            let octets = request.rawOctets ?? request.message.octets
            text += String(decoding: octets.prefix(4096), as: UTF8.self).debugDescription
        }
        if let answer { text += "\n\(answer.status) \(String(decoding: answer.body.prefix(400), as: UTF8.self))" }
        return text
    }
}
