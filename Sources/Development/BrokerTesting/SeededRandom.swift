/// SeededRandom: a small generator whose whole state is its seed, so that a failure can be made again.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above 0. Low numbers come slightly more often.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// True in one of `odds` cases.
    package mutating func oneIn(_ odds: Int) -> Bool { below(odds) == 0 }

    /// True in `part` of a thousand cases.
    package mutating func chance(_ part: Int) -> Bool { below(1000) < part }

    /// Any element; `nil` if there is none.
    package mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }

    /// The first of `values` in half of the cases, otherwise any.
    package mutating func mostly<Value>(_ usual: Value, or others: [Value]) -> Value {
        Bool.random(using: &self) ? usual : others.randomElement(using: &self) ?? usual
    }

    /// Each member in half of the cases, in any order.
    package mutating func subset(of tokens: [String]) -> [String] {
        tokens.filter { _ in Bool.random(using: &self) }.shuffled(using: &self)
    }
}
