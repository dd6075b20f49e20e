/// RSA keys of a smart-card generator whose primes had so little freedom that they can be factored (CVE-2017-15361).
enum ROCAFingerprint {
    /// Such a modulus is a power of 65537 modulo every small prime. Of other moduli one in about 2^27 is so by chance.
    static func matches(modulus: [UInt8]) -> Bool {
        primes.allSatisfy { prime in
            let residue = modulus.reduce(0 as UInt32) { ($0 << 8 | UInt32($1)) % prime }
            return isPowerOfGenerator(residue, modulo: prime)
        }
    }

    private static let primes: [UInt32] = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]

    private static func isPowerOfGenerator(_ residue: UInt32, modulo prime: UInt32) -> Bool {
        let generator = 65537 % prime
        var power: UInt32 = 1
        repeat {
            if power == residue { return true }
            power = power * generator % prime
        } while power != 1
        return false
    }
}
