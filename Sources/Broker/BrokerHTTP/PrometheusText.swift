import HTTPServer
import OAuthWire
import Synchronization

/// Writes the Prometheus text exposition format, version 0.0.4. Names come from closed sets and need no escape.
struct PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    private static let prefix = "native_sso_"

    typealias Labels = [(String, String)]

    mutating func family(_ name: String, _ help: String, _ kind: MetricSample.Kind) {
        let name = Self.prefixed(name)
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func counters(_ name: String, _ help: String, _ values: [(labels: Labels, value: Int64)]) {
        family(name, help, .counter)
        for (labels, value) in values { line(name, labels, String(value)) }
    }

    mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
        line(name, labels, Int64(exactly: value).map(String.init) ?? String(value))
    }

    mutating func histogram(_ name: String, _ labels: Labels, _ histogram: Histogram) {
        let counts = histogram.cumulative
        for (bound, count) in zip(Histogram.bounds, counts) {
            line("\(name)_bucket", labels + [("le", Self.seconds(bound))], String(count))
        }
        let all = String(counts.last ?? 0)
        line("\(name)_bucket", labels + [("le", "+Inf")], all)
        line("\(name)_sum", labels, Self.seconds(histogram.sumMicroseconds))
        line("\(name)_count", labels, all)
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: String) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text += "\(Self.prefixed(name))\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    /// The metrics of the process have the same names for every program.
    private static func prefixed(_ name: String) -> String { name.hasPrefix("process_") ? name : prefix + name }

    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { [0x0A, 0x22, 0x5C].contains($0) }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    private static func seconds(_ microseconds: Int64) -> String { String(Double(microseconds) / 1_000_000) }
}

/// A value that another component keeps, for example connections of a database pool or lost log lines.
package struct MetricSample: Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package typealias Label = (name: StaticString, value: String)

    /// Snake case, without the prefix `native_sso_`, which all get but those of `process_`. A counter's name ends in
    /// `_total`.
    package let name: StaticString
    package let help: StaticString
    package let kind: Kind
    /// `nil`: no value is known yet.
    package let value: Double?
    /// Their values come from the configuration, the registry or a closed set.
    package let labels: [Label]

    package static func gauge(
        _ name: StaticString, _ help: StaticString, _ value: some BinaryInteger, label: Label? = nil
    ) -> MetricSample {
        MetricSample(name, help, .gauge, of: Double(value), labels: label.map { [$0] } ?? [])
    }

    package static func counter(
        _ name: StaticString, _ help: StaticString, _ value: some BinaryInteger, label: Label? = nil
    ) -> MetricSample {
        MetricSample(name, help, .counter, of: Double(value), labels: label.map { [$0] } ?? [])
    }

    /// A value that need not be whole, for example seconds.
    package init(_ name: StaticString, _ help: StaticString, _ kind: Kind, of value: Double?, labels: [Label] = []) {
        self.labels = labels
        self.name = name
        self.help = help
        self.kind = kind
        self.value = value
    }

    /// One sample for each label; at least the name, if there is no label yet.
    package static func each(
        _ name: StaticString, _ help: StaticString, _ kind: Kind, _ values: [(label: Label, value: Double)]
    ) -> [MetricSample] {
        each(name, help, kind, labels: values.map { ([$0.label], $0.value) })
    }

    /// The same, for samples with several labels.
    package static func each(
        _ name: StaticString, _ help: StaticString, _ kind: Kind, labels values: [(labels: [Label], value: Double)]
    ) -> [MetricSample] {
        values.isEmpty
            ? [MetricSample(name, help, kind, of: nil)]
            : values.map { MetricSample(name, help, kind, of: $0.value, labels: $0.labels) }
    }
}

/// Names are literals, values are numbers, and labels come from the configuration, the registry or a closed set: no
/// caller's input can become a series.
package protocol MetricSource: Sendable {
    /// The same names in the same order every time. Samples of one name follow each other.
    var samples: [MetricSample] { get }
}

/// Durations of requests, in buckets with fixed bounds.
final class Histogram: Sendable {
    /// Upper bounds in microseconds: from a cached refusal to the deadline of a database call.
    static let bounds: [Int64] = [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 2_500_000,
    ]

    private let buckets = (0...Histogram.bounds.count).map { _ in Counter() }
    private let sum = Counter()

    func record(microseconds: Int64) {
        let index = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
        buckets[index].add()
        sum.add(microseconds)
    }

    /// Counts up to and including each bound, then the total.
    var cumulative: [Int64] {
        var total: Int64 = 0
        return buckets.map { bucket in
            total &+= bucket.value
            return total
        }
    }

    var sumMicroseconds: Int64 { sum.value }
}

/// The grant of a token request as a label: a closed set, so that no caller can create a series.
package enum GrantLabel: String, Sendable, CaseIterable {
    case tokenExchange = "token_exchange"
    /// An exchange for an id_token of this broker.
    case enrolment
    /// An exchange for a code that hands the login to a web app.
    case handoff
    /// The web app's exchange of that code.
    case handoffRedemption = "handoff_redemption"
    case refreshToken = "refresh_token"
    case authorizationCode = "authorization_code"
    /// RFC 7009, at the backchannel listener.
    case revocation
    /// RFC 7662, at the backchannel listener.
    case introspection
    /// draft-parecki-oauth-global-token-revocation, at the backchannel listener.
    case globalTokenRevocation = "global_token_revocation"
    /// RFC 8935, at the backchannel listener.
    case securityEvent = "security_event"
    /// The request failed before its grant type was known.
    case none

    init(_ grantType: GrantType) {
        switch grantType {
        case .tokenExchange: self = .tokenExchange
        case .refreshToken: self = .refreshToken
        case .authorizationCode: self = .authorizationCode
        }
    }
}

package enum OutcomeLabel: String, Sendable, CaseIterable {
    case granted
    case refused
    case unavailable
    /// A 503 that a caller can choose: see ``Outage/isUndecided``.
    case undecided
    case failed
}

/// What ended sessions.
enum EndLabel: String, Sendable, CaseIterable {
    /// Back-channel logout.
    case logout
    /// An app, RFC 7009.
    case revocation
    case globalTokenRevocation = "global_token_revocation"
    case securityEvent = "security_event"
}
