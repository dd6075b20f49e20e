import NativeSSO
import PostgresClient

extension PostgresValue {
    static func uuid(_ id: UniqueID) -> PostgresValue { .uuid(id.octets) }

    /// `null` for `nil`, and for nothing else.
    /// - Throws: `.broken` for an instant outside the years 1 to 9999; PostgreSQL's own limits lie not far beyond.
    static func instant(_ instant: UnixTime?) throws(PortError) -> PostgresValue {
        guard let instant else { return .null }
        guard years1To9999.contains(instant.seconds) else { throw .broken("an instant that no row can hold") }
        return .timestamp(instant.seconds * 1_000_000)
    }

    /// No row holds the far past; what a token says to be older than 1970 is refused for its age, elsewhere.
    static func pastInstant(_ instant: UnixTime) throws(PortError) -> PostgresValue {
        try .instant(max(instant, UnixTime(seconds: 0)))
    }

    /// Three parameters: `jkt`, digest, and for how many seconds the proof is remembered.
    static func proof(_ proof: PresentedProof?) -> [PostgresValue] {
        guard let proof else { return [.null, .null, .null] }
        return [.text(proof.key.string), .bytes(proof.id.digest), .int64(proof.life.count)]
    }

    /// Two parameters: digest, and until when the assertion is remembered.
    static func assertion(_ assertion: PresentedAssertion?) throws(PortError) -> [PostgresValue] {
        guard let assertion else { return [.null, .null] }
        return [.bytes(assertion.id.digest), try .instant(assertion.until)]
    }

    /// Four parameters, attributes of `native_sso.shown`: the assertion and until when it is remembered, the proof and for how many
    /// seconds.
    static func shown(_ assertion: PresentedAssertion?, _ proof: PresentedProof?) throws(PortError) -> [PostgresValue] {
        try Self.assertion(assertion) + [
            proof.map { .bytes($0.id.digest) } ?? .null, proof.map { .int64($0.life.count) } ?? .null,
        ]
    }

    private static let years1To9999: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
}
