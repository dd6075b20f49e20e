#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import Synchronization

/// The system's random numbers, fetched 256 octets at a time: `SystemRandomNumberGenerator` calls the kernel for each number,
/// which costs a third of a microsecond, and an exchange takes eight.
///
/// For names that must neither repeat nor be guessed. Not for keys: numbers wait in memory until they are taken.
public struct PooledRandomness: RandomNumberGenerator, Sendable {
    private static let pool = Mutex<[UInt64]>([])

    public init() {}

    public mutating func next() -> UInt64 {
        Self.pool.withLock { pool in
            if pool.isEmpty { pool = Self.fetched() }
            return pool.popLast() ?? Self.single()
        }
    }

    /// 32 numbers, or none where the system gives none.
    private static func fetched() -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: 32)
        return numbers.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) } == 0 ? numbers : []
    }

    private static func single() -> UInt64 {
        var randomness = SystemRandomNumberGenerator()
        return randomness.next()
    }
}
