/// The parameters of one call in the binary format. The caller writes them; the connection's thread only sends them.
///
/// The types must be the ones that the server infers for the parameters: an `Int64` does not fit an `integer`.
package struct EncodedParameters: Sendable {
    /// Each value as a composite type has it: its length in four octets, -1 for NULL, and its octets.
    private(set) var octets: [UInt8] = []
    private(set) var count = 0
    /// The first value that PostgreSQL would refuse. The client refuses it before sending, so it fails no other call.
    private var defect: PostgresError?

    /// - Parameter capacity: Octets.
    package init(reservingCapacity capacity: Int = 512) { octets.reserveCapacity(capacity) }

    package init(_ values: [PostgresValue]) {
        self.init()
        for value in values { append(value) }
    }

    /// The parameters. Throws if PostgreSQL would refuse one of them.
    func checked() throws(PostgresError) -> EncodedParameters {
        if let defect { throw defect }
        return self
    }

    /// The parameters of one call, then those of another.
    package static func + (a: EncodedParameters, b: EncodedParameters) -> EncodedParameters {
        var sum = a
        sum.octets += b.octets
        sum.count += b.count
        sum.defect = a.defect ?? b.defect
        return sum
    }

    // MARK: Writing

    package mutating func appendNull() {
        write(Int32(-1))
        count += 1
    }

    package mutating func append(_ flag: Bool) { value(of: 1) { $0.octets.append(flag ? 1 : 0) } }
    package mutating func append(_ number: Int32) { value(of: 4) { $0.write(number) } }

    package mutating func append(_ number: Int64?) {
        if let number { value(of: 8) { $0.write(number) } } else { appendNull() }
    }

    package mutating func append(_ text: String?) {
        if let text { value(of: text.utf8.count) { $0.write(text) } } else { appendNull() }
    }

    package mutating func append(_ bytes: [UInt8]?) {
        if let bytes { value(of: bytes.count) { $0.octets.append(contentsOf: bytes) } } else { appendNull() }
    }

    package mutating func append(uuid high: UInt64, _ low: UInt64) {
        value(of: 16) {
            $0.write(high)
            $0.write(low)
        }
    }

    /// - Parameter microseconds: Since 1970-01-01T00:00:00Z.
    package mutating func append(timestamp microseconds: Int64?) {
        if let microseconds { value(of: 8) { $0.write(timestamp: microseconds) } } else { appendNull() }
    }

    package mutating func append(_ texts: [String]?) {
        guard let texts else { return appendNull() }
        array(of: .text, texts, length: { $0.utf8.count }, { $0.write($1) })
    }

    private mutating func append(_ value: PostgresValue) {
        switch value {
        case .null: appendNull()
        case .bool(let flag): append(flag)
        case .int32(let number): append(number)
        case .int64(let number): append(number)
        case .text(let text): append(text)
        case .bytes(let bytes): append(bytes)
        case .uuid(let bytes):
            if bytes.count != 16 { refuse("22P03") }
            append(bytes)
        case .timestamp(let microseconds): append(timestamp: microseconds)
        case .textArray(let elements): append(elements)
        case .uuidArray(let elements):
            array(of: .uuid, elements, length: \.count) { $0.octets.append(contentsOf: $1) }
        case .timestampArray(let elements):
            array(of: .timestamptz, elements, length: { _ in 8 }) { $0.write(timestamp: $1) }
        }
    }

    private mutating func value(of length: Int, _ body: (inout EncodedParameters) -> Void) {
        write(length: length)
        body(&self)
        count += 1
    }

    /// PostgreSQL `array_send`: dimensions, has-NULL flag, element type, then length and lower bound of the dimension.
    private mutating func array<Elements: Collection>(
        of type: ColumnType, _ elements: Elements, length: (Elements.Element) -> Int,
        _ body: (inout EncodedParameters, Elements.Element) -> Void
    ) {
        let lengths = elements.reduce(0) { $0 + 4 + length($1) }
        value(of: elements.isEmpty ? 12 : 20 + lengths) {
            $0.write(Int32(elements.isEmpty ? 0 : 1))
            $0.write(Int32(0))
            $0.write(type.objectID)
            guard !elements.isEmpty else { return }
            $0.write(length: elements.count)
            $0.write(Int32(1))
            for element in elements {
                $0.write(length: length(element))
                body(&$0, element)
            }
        }
    }

    private mutating func write(_ number: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe octets.append(contentsOf: $0) }
    }

    private mutating func write(length: Int) {
        if length > Int32.max { refuse("54000") }
        write(Int32(clamping: length))
    }

    /// A PostgreSQL text contains no NUL.
    private mutating func write(_ text: String) {
        let start = octets.count
        octets.append(contentsOf: text.utf8)
        if octets[start...].contains(0) { refuse("22021") }
    }

    /// PostgreSQL counts from 2000-01-01. Its extreme values mean infinity.
    private mutating func write(timestamp microseconds: Int64) {
        let (result, overflow) = microseconds.subtractingReportingOverflow(PostgresTimestamp.serverEpoch)
        if overflow || result == .min { refuse("22008") }
        write(result)
    }

    /// Records the server's error for such a value. Its text stays empty, as for every data exception.
    private mutating func refuse(_ code: String) {
        if defect == nil { defect = .server(SQLState(code), message: "", constraint: nil) }
    }

    // MARK: Reading

    /// Calls `body` with the range of each value in ``octets``; `nil` for NULL.
    func forEachRange(_ body: (Range<Int>?) -> Void) {
        var start = 0
        for _ in 0..<count {
            let length = Int32(truncatingIfNeeded: octets[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            start += 4
            body(length < 0 ? nil : start..<start + Int(length))
            start += Int(max(length, 0))
        }
    }
}

extension EncodedParameters {
    /// One parameter: an array of composite values (`array_recv`, `record_recv`) with one element per call. Copies the
    /// octets of the calls. `nil` if the result is too long for a parameter.
    init?(gathering calls: [EncodedParameters], _ fields: [ColumnType], element: UInt32) {
        self.init(
            reservingCapacity: 24 + calls.count * (8 + 4 * fields.count) + calls.reduce(0) { $0 + $1.octets.count })
        write(Int32(0))  // the length, set below
        write(Int32(1))  // dimensions
        write(Int32(0))  // no element is NULL
        write(element)
        write(length: calls.count)
        write(Int32(1))  // index of the first element
        for call in calls {
            let start = octets.count
            write(Int32(0))  // the element's length, once it is known
            write(length: fields.count)
            var index = 0
            call.forEachRange { range in
                guard index < fields.count else { return }
                write(fields[index].objectID)
                if let range {
                    octets.append(contentsOf: call.octets[range.lowerBound - 4..<range.upperBound])
                } else {
                    write(Int32(-1))
                }
                index += 1
            }
            setLength(at: start)
        }
        guard octets.count - 4 <= Int32.max else { return nil }
        setLength(at: 0)
        count = 1
    }

    /// Writes the length of all that stands behind the four octets at `start` into them.
    private mutating func setLength(at start: Int) {
        let length = UInt32(truncatingIfNeeded: octets.count - start - 4)
        for index in 0..<4 { octets[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(index))) }
    }
}

/// A parameter of a statement, with its PostgreSQL type (binary format).
///
/// The type must be the one that the server infers: an `int64` does not fit an `integer`.
package enum PostgresValue: Sendable, Hashable {
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
    package static func optionalInt64(_ value: Int64?) -> PostgresValue { value.map { .int64($0) } ?? .null }
    package static func optionalText(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .null }
    package static func optionalBytes(_ value: [UInt8]?) -> PostgresValue { value.map { .bytes($0) } ?? .null }
}

/// A type by its object id, which for the built-in types is part of the protocol (`pg_type.dat`).
package struct ColumnType: Hashable, Sendable {
    let objectID: UInt32

    init(_ objectID: UInt32) { self.objectID = objectID }

    package static let bool = ColumnType(16), bytea = ColumnType(17), int8 = ColumnType(20), int2 = ColumnType(21)
    package static let int4 = ColumnType(23), timestamptz = ColumnType(1184), uuid = ColumnType(2950)
    package static let text = ColumnType(25), textArray = ColumnType(1009)

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
