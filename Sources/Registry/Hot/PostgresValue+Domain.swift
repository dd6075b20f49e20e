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

    private static let years1To9999: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
}
