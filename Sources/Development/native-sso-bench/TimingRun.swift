import BrokerHarness
import Foundation
import Glibc
import StrictCoding

/// How long the refusals take that must not be told apart, each kind in its turn by chance.
struct TimingRun {
    /// The one body that all of them have.
    private static let body = Array(AnswerContract.unusableBody.utf8)

    /// No such refusal leaves sooner after its request. In nanoseconds.
    private static let leastTime: Int64 = 5_000_000

    let installation: MeasuredInstallation
    let samples: Int

    func section() async throws -> Section {
        try await TimingRequests.register(in: installation)
        return try await installation.base.withBroker { broker in
            let requests = try TimingRequests(key: installation.key, at: Int64(time(nil)))
            let connection = try Connection(port: broker.publicPort)
            for exchange in requests.exchanges {
                guard try Self.ask(exchange, on: connection).status == 200 else {
                    throw ManagedProcess.Failure(description: "a good exchange was refused")
                }
            }
            var wrong = 0
            // What comes first finds everything cold.
            _ = try measure(requests, on: connection, samples: max(200, samples / 50), wrong: &wrong)
            say("timing: \(samples) samples of each kind")
            let times = try measure(requests, on: connection, samples: samples, wrong: &wrong)
            return report(times, wrong: wrong)
        }
    }

    /// Nanoseconds of each kind.
    private func measure(
        _ requests: TimingRequests, on connection: Connection, samples: Int, wrong: inout Int
    ) throws -> [TimingKind: [Double]] {
        var times: [TimingKind: [Double]] = [:]
        for kind in TimingKind.allCases { times[kind, default: []].reserveCapacity(samples) }
        for index in 0..<samples {
            // All kinds as often, and none where the machine is always busier.
            for kind in TimingKind.allCases.shuffled() {
                let request = requests[kind, index]
                let start = ProcessClock.monotonic
                let (status, isRight) = try Self.ask(request, on: connection)
                let time = ProcessClock.monotonic - start
                times[kind, default: []].append(Double(time))
                if status != 400 || !isRight || time < Self.leastTime { wrong += 1 }
            }
        }
        return times
    }

    private static func ask(_ request: [UInt8], on connection: Connection) throws -> (status: Int, isRight: Bool) {
        let (status, answer) = try connection.answer(to: request)
        return (status, answer == body)
    }

    private func report(_ times: [TimingKind: [Double]], wrong: Int) -> Section {
        var section = Section(
            "timing", facts: [("samples", .integer(samples)), ("threshold", .string("\(WelchTest.threshold)"))])
        for kind in TimingKind.allCases {
            let latencies = Latencies(microseconds: (times[kind] ?? []).map { UInt32(clamping: Int64($0 / 1000)) })
            var figure = Figure(["kind": .string(kind.rawValue), "than": .string("")])
            figure.add([
                .meanMicroseconds: RunningMoments(times[kind] ?? []).mean / 1000,
                .p50: latencies.milliseconds(at: 0.5), .p99: latencies.milliseconds(at: 0.99),
            ])
            figure.count("wrong_answers", kind == TimingKind.allCases[0] ? wrong : 0)
            section.figures.append(figure)
        }
        // The slowest twentieth is the machine's doing, and hides small differences in its noise. Without it, the
        // test detects 1 µs, which an attacker cannot see through a network. The report only shows that.
        let sorted = times.values.joined().sorted()
        let limit = sorted.dropLast(sorted.count / 20).last ?? .infinity
        func moments(_ kind: TimingKind, _ limit: Double) -> RunningMoments {
            RunningMoments((times[kind] ?? []).filter { $0 <= limit })
        }
        for (one, other) in TimingKind.pairs {
            let t = WelchTest.t(moments(one, .infinity), moments(other, .infinity))
            let quiet = WelchTest.t(moments(one, limit), moments(other, limit))
            var figure = Figure(["kind": .string(one.rawValue), "than": .string(other.rawValue)])
            figure.add([
                .meanMicroseconds: (moments(one, limit).mean - moments(other, limit).mean) / 1000, .welch: t,
                .quietWelch: quiet,
            ])
            let isAlike = abs(t) < WelchTest.threshold
            figure.count("wrong_answers", isAlike ? 0 : 1)
            if !isAlike { figure.firstWrongAnswer = "the two are told apart by their time" }
            section.figures.append(figure)
        }
        return section
    }
}

/// Mean and variance of numbers that come one by one. Welford's method.
struct RunningMoments {
    private(set) var count = 0.0
    private(set) var mean = 0.0
    private var squares = 0.0

    init(_ values: some Sequence<Double> = []) { for value in values { add(value) } }

    mutating func add(_ value: Double) {
        count += 1
        let distance = value - mean
        mean += distance / count
        squares += distance * (value - mean)
    }

    /// Of the whole from which these are a sample. 0 of fewer than two.
    var variance: Double { count > 1 ? squares / (count - 1) : 0 }
}

/// Whether two samples have one mean. Welch's t, for samples of unequal variance.
enum WelchTest {
    /// What leak detection takes for a difference: less comes by chance once in 100,000 times at most.
    static let threshold = 4.5

    /// 0 for samples that are all alike, or too small.
    static func t(_ a: RunningMoments, _ b: RunningMoments) -> Double {
        guard a.count > 1, b.count > 1 else { return 0 }
        let variance = a.variance / a.count + b.variance / b.count
        guard variance > 0 else { return a.mean == b.mean ? 0 : a.mean > b.mean ? .infinity : -.infinity }
        return (a.mean - b.mean) / variance.squareRoot()
    }
}
