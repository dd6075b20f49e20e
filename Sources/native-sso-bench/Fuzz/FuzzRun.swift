import StrictCoding

/// Bent requests at a broker of its own: how many, how it answered, and how it was afterwards.
struct FuzzRun {
    /// KiB by which a broker may grow after the first tenth, whatever comes.
    static let allowedGrowth = 64 * 1024.0

    let installation: Installation
    let fuzz: FuzzOptions
    let progress: (String) -> Void

    func section() async throws -> Section {
        let credentials = try FuzzMaterial.register(in: installation)
        return try await RunningBroker.lend(installation) { broker in
            let material = try FuzzMaterial(installation, credentials, port: broker.publicPort)
            let forge = RequestForge(seed: fuzz.seed, material: material)
            let load = FuzzLoad(forge: forge, port: broker.publicPort, connections: fuzz.connections)
            var result = FuzzLoad.Result()
            var figure = Figure(["seed": .integer(fuzz.seed), "first": .integer(fuzz.first)])
            var warm = 0.0
            let start = ProcessClock.monotonic
            let end = fuzz.first + fuzz.requests
            let portion = max(1, fuzz.requests / 10)
            for first in stride(from: fuzz.first, to: end, by: portion) {
                result.add(try load.run(first..<min(first + portion, end)))
                let resident = Double(try ProcessStatus.kibibytes("VmRSS", of: broker.pid))
                if warm == 0 { warm = resident }
                progress("fuzz: \(result.requests) requests, \(result.count) findings, \(Int(resident)) KiB")
                figure.add([.residentKiB: resident])
            }
            let seconds = Double(ProcessClock.monotonic - start) / 1e9
            let resident = Double(try ProcessStatus.kibibytes("VmRSS", of: broker.pid))
            try judge(&result, broker: broker, forge: forge, growth: resident - warm)
            for finding in result.findings { progress(finding.description(seed: fuzz.seed)) }
            figure.count("requests", result.requests)
            for (status, count) in result.answers.sorted(by: { $0.key < $1.key }) {
                figure.count("status_\(status)", count)
            }
            figure.count("reasons", try Self.reasons(port: broker.internalPort))
            figure.count("growth_kib", Int(resident - warm))
            figure.count("milliseconds", Int(seconds * 1000))
            figure.count("wrong_answers", result.count)
            figure.firstWrongAnswer = result.findings.first?.fault
            var section = Section("fuzz")
            section.figures = [figure]
            return section
        }
    }

    /// For how many different reasons the broker has refused: how far into it the requests got.
    private static func reasons(port: UInt16) throws -> Int {
        let text = String(decoding: try PlainGet.body(of: "/metrics", port: port), as: UTF8.self)
        let refusals = text.split(separator: "\n").filter { $0.contains("refusals_total{") && !$0.hasSuffix(" 0") }
        return refusals.count
    }

    /// What must hold after all of it.
    private func judge(
        _ result: inout FuzzLoad.Result, broker: RunningBroker, forge: RequestForge, growth: Double
    ) throws {
        let (status, _) = try PlainGet.answer(to: forge.goodExchange(), port: broker.publicPort)
        if status != 200 {
            result.note(FuzzLoad.Finding(fault: "a good exchange afterwards: \(status)", request: nil, answer: nil))
        }
        if growth > Self.allowedGrowth {
            result.note(FuzzLoad.Finding(fault: "grown by \(Int(growth)) KiB", request: nil, answer: nil))
        }
    }
}

extension FuzzLoad.Finding {
    /// For the one who has to look into it.
    func description(seed: UInt64) -> String {
        var text = "finding: \(fault)"
        if let request {
            text += "\nagain: fuzz --seed \(seed) --first \(request.number) --requests 1\n"
            text += String(decoding: request.octets.prefix(4096), as: UTF8.self).debugDescription
        }
        if let answer { text += "\n\(answer.status) \(String(decoding: answer.body.prefix(400), as: UTF8.self))" }
        return text
    }
}
