/// The parameters of one call as they travel, made where the call is made: the threads of the connections only send them.
struct EncodedParameters: Sendable {
    /// One octet, so that an empty value has an address too, and all values, one after the other.
    var octets: [UInt8] = []
    /// The length of each; -1 for NULL.
    var lengths: [Int32] = []

    /// None, and not yet the one octet.
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

    /// NUL has no place in a PostgreSQL text. Refused here, it fails nobody else's call.
    private mutating func append(_ text: String) throws(PostgresError) {
        let start = octets.count
        octets.append(contentsOf: text.utf8)
        guard !octets[start...].contains(0) else { throw Self.refused("22021") }
    }

    /// As the server would, whose text for a data exception is not kept.
    private static func refused(_ code: String) -> PostgresError {
        .server(SQLState(code), message: "", constraint: nil)
    }

    mutating func append(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            octets.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// PostgreSQL `array_send`: dimensions, has-NULL flag, element type, then length and lower bound of the dimension.
    private mutating func arrayHeader(of element: Int32, count: Int) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(0))
        append(element)
        guard count > 0 else { return }
        append(Int32(clamping: count))
        append(Int32(1))
    }

    /// PostgreSQL counts from 2000-01-01; its extremes stand for infinity and are not times.
    private static func sinceServerEpoch(_ microseconds: Int64) throws(PostgresError) -> Int64 {
        let (result, overflow) = microseconds.subtractingReportingOverflow(PostgresTimestamp.serverEpoch)
        guard !overflow, result != .min else { throw refused("22008") }
        return result
    }
}
