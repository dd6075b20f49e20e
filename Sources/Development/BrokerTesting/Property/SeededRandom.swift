/// SplitMix64: a small generator whose whole state is its seed, so that a failure can be made again.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True in one of `odds` cases.
    mutating func oneIn(_ odds: Int) -> Bool { Int.random(in: 0..<odds, using: &self) == 0 }

    /// The first of `values` in half of the cases, otherwise any.
    mutating func mostly<Value>(_ usual: Value, or others: [Value]) -> Value {
        Bool.random(using: &self) ? usual : others.randomElement(using: &self) ?? usual
    }

    /// Each member in half of the cases, in any order.
    mutating func subset(of tokens: [String]) -> [String] {
        tokens.filter { _ in Bool.random(using: &self) }.shuffled(using: &self)
    }
}
