/// A number that someone else keeps: connections of a database pool, lines that a log lost.
public struct MetricSample: Sendable {
    public enum Kind: String, Sendable {
        case counter
        case gauge
    }

    /// Snake case, without the prefix `native_sso_`; a counter's ends in `_total`.
    public let name: StaticString
    public let help: StaticString
    public let kind: Kind
    public let value: Int64

    public init(_ name: StaticString, _ help: StaticString, _ kind: Kind, _ value: Int64) {
        self.name = name
        self.help = help
        self.kind = kind
        self.value = value
    }
}

/// Names are literals and values are numbers, so that nothing a caller sent can become a series.
public protocol MetricSource: Sendable {
    /// The same names in the same order every time.
    var samples: [MetricSample] { get }
}
