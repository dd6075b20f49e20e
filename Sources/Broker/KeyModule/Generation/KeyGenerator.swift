/// Makes the next key of each use.
public struct KeyGenerator: Sendable {
    private let provider: any KeyProvider

    public init(provider: any KeyProvider) {
        self.provider = provider
    }

    /// Modulus of a new RSA key, in bits: NIST SP 800-57 part 1 holds 2048 to be enough until the end of 2030, and a
    /// signature of 3072 costs three times as much.
    public static let defaultModulusBits = 2048

    /// Makes the next key for `use`.
    /// - Parameters:
    ///   - algorithm: Of a signing key; MAC keys know only one.
    ///   - existing: The keys that were not removed.
    /// - Throws: `.deviceKeyExists`, `.noIDsLeft`, `.algorithmDoesNotFit`, or what the provider met.
    public func generate(
        _ use: KeyUse, algorithm: KeyAlgorithm = .es256, modulusBits: Int = defaultModulusBits,
        beside existing: [KeyRecord]
    ) throws(KeyError) -> GeneratedKey {
        let existing = existing.filter { $0.use == use && $0.state != .removed }
        switch use {
        case .accessToken: return try provider.generateSigningKey(algorithm, modulusBits: modulusBits)
        case .refreshToken: return try provider.generateRefreshTokenKey(id: try Self.nextID(existing))
        case .device:
            if let device = existing.first { throw .deviceKeyExists(reference: device.reference) }
            return try provider.generateDeviceKey()
        }
    }

    /// The id above all others, or, when those are used up, the lowest that is free: what a removed key made is refused
    /// under another key just as under none.
    private static func nextID(_ existing: [KeyRecord]) throws(KeyError) -> UInt8 {
        var taken: Set<UInt8> = []
        for record in existing {
            guard case .refreshToken(let id)? = KeyReference(record.reference, use: .refreshToken) else {
                throw .badReference(record.reference)
            }
            taken.insert(id)
        }
        let highest = taken.max() ?? 0
        if highest < .max { return highest + 1 }
        guard let free = (1...UInt8.max).first(where: { !taken.contains($0) }) else { throw .noIDsLeft }
        return free
    }
}
