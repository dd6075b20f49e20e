/// SeededRandom: a small generator whose whole state is its seed, so that a failure can be made again.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above 0. Low numbers come slightly more often.
    public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// True in one of `odds` cases.
    public mutating func oneIn(_ odds: Int) -> Bool { below(odds) == 0 }

    /// True in `part` of a thousand cases.
    public mutating func chance(_ part: Int) -> Bool { below(1000) < part }

    /// Any element; `nil` if there is none.
    public mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }

    /// The first of `values` in half of the cases, otherwise any.
    public mutating func mostly<Value>(_ usual: Value, or others: [Value]) -> Value {
        Bool.random(using: &self) ? usual : others.randomElement(using: &self) ?? usual
    }

    /// Each member in half of the cases, in any order.
    public mutating func subset(of tokens: [String]) -> [String] {
        tokens.filter { _ in Bool.random(using: &self) }.shuffled(using: &self)
    }
}
