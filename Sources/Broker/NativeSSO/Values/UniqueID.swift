import Crypto
import Glibc
import StrictCoding
import Synchronization

/// The 128-bit id of a request, a session row or a grant, written as a UUID. RFC 9562.
package struct UniqueID: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// `nil` unless there are exactly 16 octets.
    package init?(octets: ArraySlice<UInt8>) {
        guard octets.count == 16 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for octet in octets { (high, low) = (high << 8 | low >> 56, low << 8 | UInt64(octet)) }
        self.init(high: high, low: low)
    }

    /// 128 random bits.
    package static func random(using randomness: inout some RandomNumberGenerator) -> UniqueID {
        UniqueID(high: randomness.next(), low: randomness.next())
    }

    /// UUID version 7: milliseconds since 1970, then 74 random bits. Rows made one after another lie together in
    /// their index. RFC 9562 §5.7.
    package static func timeOrdered(
        milliseconds: UInt64, using randomness: inout some RandomNumberGenerator
    ) -> UniqueID {
        UniqueID(
            high: milliseconds << 16 | 0x7000 | randomness.next() & 0xFFF,
            low: 0x8000_0000_0000_0000 | randomness.next() & 0x3FFF_FFFF_FFFF_FFFF)
    }

    /// The same for a row of a login: the 10 bits of ``slot(issuer:subject:)`` stand at the head of `rand_a`.
    package static func timeOrdered(
        milliseconds: UInt64, slot: UInt64, using randomness: inout some RandomNumberGenerator
    ) -> UniqueID {
        let id = timeOrdered(milliseconds: milliseconds, using: &randomness)
        return UniqueID(high: id.high & ~0xFFC | (slot & 0x3FF) << 2, low: id.low)
    }

    /// The first 10 bits of SHA-256 over issuer and subject of a login at the IdP, each after its 32-bit big-endian
    /// length. All rows of a user have one slot, so that a later release can spread users over several databases by id.
    package static func slot(issuer: Issuer, subject: Subject) -> UInt64 {
        var login: [UInt8] = []
        login.reserveCapacity(256)
        for text in [issuer.string.utf8, subject.string.utf8] {
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: text.count).bigEndian) { login += $0 }
            login += text
        }
        return SHA256.hash(data: login).prefix(2).reduce(0) { $0 << 8 | UInt64($1) } >> 6
    }

    package var octets: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }

    /// 8-4-4-4-12 lower-case hexadecimal digits.
    package var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var rest = high
            for position in 0..<36 {
                if position == 19 { rest = low }
                switch position {
                case 8, 13, 18, 23: text[position] = UInt8(ascii: "-")
                default:
                    text[position] = Hexadecimal.digit(UInt8(rest >> 60))
                    rest <<= 4
                }
            }
            return 36
        }
    }

    /// The 36 characters of ``description``; `nil` for anything else.
    package init?(_ text: String) {
        guard let octets = Hexadecimal.decode(text.utf8.filter { $0 != UInt8(ascii: "-") }) else { return nil }
        self.init(octets: octets[...])
        guard description.hasSameOctets(as: text) else { return nil }
    }
}

/// The system's random numbers, fetched 256 octets at a time: `SystemRandomNumberGenerator` calls the kernel for each
/// number, which costs a third of a microsecond, and an exchange takes eight.
///
/// For unique, unguessable ids. Not for keys, because the numbers stay in memory until they are used.
package struct PooledRandomness: RandomNumberGenerator, Sendable {
    private static let pool = Mutex<[UInt64]>([])

    package init() {}

    package mutating func next() -> UInt64 {
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
