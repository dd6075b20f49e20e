/// An instant in microseconds, the resolution of `timestamptz`.
package struct PostgresTimestamp: Sendable, Hashable, Comparable {
    /// Since 1970-01-01T00:00:00Z.
    package let microseconds: Int64
    /// 2000-01-01T00:00:00Z, PostgreSQL's epoch, in microseconds since 1970.
    static let serverEpoch: Int64 = 946_684_800_000_000

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// Whole seconds since 1970, rounded down.
    package var flooredSeconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    package static func < (a: PostgresTimestamp, b: PostgresTimestamp) -> Bool { a.microseconds < b.microseconds }
}

/// One result row. Columns are read by position. A wrong type or an unexpected NULL throws `unexpectedResult`.
package struct Row: Sendable {
    let answer: Answer
    /// In range: ``Answer/rows`` makes the rows.
    let index: Int

    package var count: Int { answer.columns }

    /// The position of the column with this name. Throws if it does not exist.
    package func column(_ name: String) throws(PostgresError) -> Int { try answer.position(of: name) }

    /// The name of the column at this position; `nil` if there is none.
    package func name(of column: Int) -> String? {
        (0..<answer.columns).contains(column) ? answer.result.name(of: column) : nil
    }

    package func isNull(_ column: Int) throws(PostgresError) -> Bool {
        guard column >= 0, column < answer.columns else { throw .unexpectedResult(column: column) }
        return answer.result.isNull(row: index, column: column)
    }

    package func bool(_ column: Int) throws(PostgresError) -> Bool {
        try read(column) { octets, type in type == .bool && octets.count == 1 ? octets[0] != 0 : nil }
    }

    /// From `integer` or `smallint`.
    package func int32(_ column: Int) throws(PostgresError) -> Int32 {
        try read(column) { octets, type in
            type == .int4 && octets.count == 4 || type == .int2 && octets.count == 2
                ? Int32(truncatingIfNeeded: octets.signedInteger) : nil
        }
    }

    /// From `bigint`, `integer` or `smallint`.
    package func int64(_ column: Int) throws(PostgresError) -> Int64 {
        try read(column) { octets, type in
            type == .int8 && octets.count == 8 || type == .int4 && octets.count == 4
                || type == .int2 && octets.count == 2 ? octets.signedInteger : nil
        }
    }

    /// From any type whose binary form is text: `text`, `varchar`, `name`, `json`, an enum, or a domain over these.
    package func text(_ column: Int) throws(PostgresError) -> String {
        try read(column) { octets, type in type.isTextual ? String(octets: octets) : nil }
    }

    package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        try read(column) { octets, type in type == .bytea ? octets.array : nil }
    }

    /// 16 octets.
    package func uuid(_ column: Int) throws(PostgresError) -> [UInt8] {
        try read(column) { octets, type in type == .uuid && octets.count == 16 ? octets.array : nil }
    }

    /// Throws for infinity.
    package func timestamp(_ column: Int) throws(PostgresError) -> PostgresTimestamp {
        try read(column) { octets, type in
            guard type == .timestamptz, octets.count == 8 else { return nil }
            let sinceServerEpoch = octets.signedInteger
            let (microseconds, overflow) = sinceServerEpoch.addingReportingOverflow(PostgresTimestamp.serverEpoch)
            return overflow || sinceServerEpoch == .min ? nil : PostgresTimestamp(microseconds: microseconds)
        }
    }

    /// A one-dimensional array without NULLs.
    package func textArray(_ column: Int) throws(PostgresError) -> [String] {
        try read(column) { octets, type in type.isTextualArray ? ArrayReader.texts(in: octets) : nil }
    }

    /// Passes the octets of one value to `interpret`; throws for NULL, and if that returns `nil`.
    private func read<Value>(
        _ column: Int, _ interpret: (Span<UInt8>, ColumnType) -> Value?
    ) throws(PostgresError) -> Value {
        guard try !isNull(column), let value = answer.result.withValue(row: index, column: column, interpret)
        else { throw .unexpectedResult(column: column) }
        return value
    }
}

extension Row {
    package func optionalInt32(_ column: Int) throws(PostgresError) -> Int32? { try optional(column, int32) }
    package func optionalInt64(_ column: Int) throws(PostgresError) -> Int64? { try optional(column, int64) }
    package func optionalText(_ column: Int) throws(PostgresError) -> String? { try optional(column, text) }
    package func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? { try optional(column, bytes) }
    package func optionalUUID(_ column: Int) throws(PostgresError) -> [UInt8]? { try optional(column, uuid) }
    package func optionalTextArray(_ column: Int) throws(PostgresError) -> [String]? { try optional(column, textArray) }
    package func optionalTimestamp(_ column: Int) throws(PostgresError) -> PostgresTimestamp? {
        try optional(column, timestamp)
    }

    private func optional<Value>(
        _ column: Int, _ read: (Int) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        try isNull(column) ? nil : read(column)
    }
}

/// Reads PostgreSQL's binary array form.
enum ArrayReader {
    /// `nil` unless the value is a one-dimensional array of non-NULL UTF-8 texts.
    static func texts(in octets: Span<UInt8>) -> [String]? {
        var position = 0
        guard let dimensions = int32(octets, &position), int32(octets, &position) != nil,
            int32(octets, &position) != nil
        else { return nil }
        if dimensions == 0 { return position == octets.count ? [] : nil }
        guard dimensions == 1, let count = int32(octets, &position), count >= 0, int32(octets, &position) != nil
        else { return nil }
        var elements: [String] = []
        for _ in 0..<count {
            guard let length = int32(octets, &position), length >= 0, Int(length) <= octets.count - position,
                let text = String(octets: octets.extracting(position..<position + Int(length)))
            else { return nil }
            elements.append(text)
            position += Int(length)
        }
        return position == octets.count ? elements : nil
    }

    private static func int32(_ octets: Span<UInt8>, _ position: inout Int) -> Int32? {
        guard octets.count - position >= 4 else { return nil }
        defer { position += 4 }
        return Int32(truncatingIfNeeded: octets.extracting(position..<position + 4).signedInteger)
    }
}

extension String {
    /// `nil` unless the octets are valid UTF-8.
    init?(octets: Span<UInt8>) {
        do throws(UTF8.ValidationError) {
            self.init(copying: try UTF8Span(validating: octets))
        } catch {
            return nil
        }
    }
}

extension Span<UInt8> {
    var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe Array($0) } }

    /// Big-endian two's complement of at most eight octets.
    var signedInteger: Int64 {
        var value: Int64 = count > 0 && self[0] >= 0x80 ? -1 : 0
        for index in indices { value = value << 8 | Int64(self[index]) }
        return value
    }
}
