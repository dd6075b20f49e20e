/// A parameter of a statement, with the PostgreSQL type in which it travels (binary format).
///
/// The type must be the one that the server infers for the parameter: an `int64` does not fit an `integer`.
public enum PostgresValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case int32(Int32)
    case int64(Int64)
    case text(String)
    case bytes([UInt8])
    /// 16 octets.
    case uuid([UInt8])
    /// Microseconds since 1970-01-01T00:00:00Z.
    case timestamp(Int64)
    case textArray([String])
    /// 16 octets each.
    case uuidArray([[UInt8]])
    /// Microseconds since 1970-01-01T00:00:00Z.
    case timestampArray([Int64])
}

extension PostgresValue {
    public static func optionalInt64(_ value: Int64?) -> PostgresValue { value.map { .int64($0) } ?? .null }
    public static func optionalText(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .null }
    public static func optionalBytes(_ value: [UInt8]?) -> PostgresValue { value.map { .bytes($0) } ?? .null }
}
