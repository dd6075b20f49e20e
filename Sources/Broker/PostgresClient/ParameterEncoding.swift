/// The encoded parameters of one call. The caller's task encodes them, so the connection threads only send.
struct EncodedParameters: Sendable {
    /// One extra octet, which gives an empty value an address, then all values in sequence.
    var octets: [UInt8] = []
    /// The length of each value; -1 for NULL.
    var lengths: [Int32] = []

    /// No parameters, and not even the extra octet.
    init() {}

    init(_ values: [PostgresValue]) throws(PostgresError) {
        octets.reserveCapacity(512)
        octets.append(0)
        lengths.reserveCapacity(values.count)
        for value in values {
            if case .null = value {
                lengths.append(-1)
                continue
            }
            let start = octets.count
            try append(value)
            guard let length = Int32(exactly: octets.count - start) else { throw Self.refused("54000") }
            lengths.append(length)
        }
    }

    private mutating func append(_ value: PostgresValue) throws(PostgresError) {
        switch value {
        case .null: break
        case .bool(let flag): octets.append(flag ? 1 : 0)
        case .int32(let number): append(number)
        case .int64(let number): append(number)
        case .text(let text): try append(text)
        case .bytes(let bytes): octets.append(contentsOf: bytes)
        case .uuid(let bytes):
            guard bytes.count == 16 else { throw Self.refused("22P03") }
            octets.append(contentsOf: bytes)
        case .timestamp(let microseconds): append(try Self.sinceServerEpoch(microseconds))
        case .textArray(let elements):
            arrayHeader(of: 25, count: elements.count)
            for element in elements {
                append(Int32(clamping: element.utf8.count))
                try append(element)
            }
        case .uuidArray(let elements):
            arrayHeader(of: 2950, count: elements.count)
            for element in elements {
                append(Int32(clamping: element.count))
                octets.append(contentsOf: element)
            }
        case .timestampArray(let elements):
            arrayHeader(of: 1184, count: elements.count)
            for element in elements {
                append(Int32(8))
                append(try Self.sinceServerEpoch(element))
            }
        }
    }

    /// PostgreSQL text cannot contain NUL. A refusal here protects the other calls of the batch.
    private mutating func append(_ text: String) throws(PostgresError) {
        let start = octets.count
        octets.append(contentsOf: text.utf8)
        guard !octets[start...].contains(0) else { throw Self.refused("22021") }
    }

    /// The same error as the server's; the message of a data exception is empty anyway.
    private static func refused(_ code: String) -> PostgresError {
        .server(SQLState(code), message: "", constraint: nil)
    }

    mutating func append(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            octets.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Array header of PostgreSQL's `array_send`: dimensions, has-NULL flag, element type, then length and lower
    /// bound of the dimension.
    private mutating func arrayHeader(of element: Int32, count: Int) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(0))
        append(element)
        guard count > 0 else { return }
        append(Int32(clamping: count))
        append(Int32(1))
    }

    /// PostgreSQL counts microseconds from 2000-01-01. Its extreme values mean infinity.
    private static func sinceServerEpoch(_ microseconds: Int64) throws(PostgresError) -> Int64 {
        let (result, overflow) = microseconds.subtractingReportingOverflow(PostgresTimestamp.serverEpoch)
        guard !overflow, result != .min else { throw refused("22008") }
        return result
    }
}

/// A parameter of a statement, with its PostgreSQL type (binary format).
///
/// The type must be the one that the server infers: an `int64` does not fit an `integer`.
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

/// A type by its object id. The ids of built-in types are part of the protocol (`pg_type.dat`).
struct ColumnType: Hashable, Sendable {
    let objectID: UInt32

    init(_ objectID: UInt32) { self.objectID = objectID }

    static let bool = ColumnType(16), bytea = ColumnType(17), int8 = ColumnType(20), int2 = ColumnType(21)
    static let int4 = ColumnType(23), timestamptz = ColumnType(1184), uuid = ColumnType(2950)
    static let text = ColumnType(25), textArray = ColumnType(1009)

    /// Types whose binary form is text: "char", name, text, json, unknown, bpchar, varchar, and types of a schema
    /// (enums).
    var isTextual: Bool {
        switch objectID {
        case 18, 19, 25, 114, 705, 1042, 1043: true
        default: isDefinedBySchema
        }
    }

    /// name[], text[], varchar[], and types of a schema (arrays of domains).
    var isTextualArray: Bool {
        switch objectID {
        case 1003, 1009, 1015: true
        default: isDefinedBySchema
        }
    }

    /// Each database assigns object ids from 16384 on itself.
    private var isDefinedBySchema: Bool { objectID >= 16_384 }
}
