/// The fields of one composite value, from PostgreSQL's binary form of it (`record_send`).
struct RecordFields: Sendable {
    private struct Field: Sendable {
        let type: ColumnType
        /// `nil`: NULL.
        let range: Range<Int>?
    }

    private let octets: [UInt8]
    private let fields: [Field]

    var count: Int { fields.count }

    /// `nil` unless the octets are such a value, and nothing more.
    init?(_ octets: Span<UInt8>) {
        var position = 0
        func number() -> Int32? {
            guard octets.count - position >= 4 else { return nil }
            defer { position += 4 }
            return Int32(truncatingIfNeeded: octets.extracting(position..<position + 4).signedInteger)
        }
        guard let count = number(), count >= 0 else { return nil }
        var fields: [Field] = []
        for _ in 0..<count {
            guard let type = number(), let length = number(), length >= -1, Int(length) <= octets.count - position
            else { return nil }
            let end = position + max(0, Int(length))
            fields.append(
                Field(type: ColumnType(UInt32(bitPattern: type)), range: length < 0 ? nil : position..<end))
            position = end
        }
        guard position == octets.count else { return nil }
        self.octets = octets.array
        self.fields = fields
    }

    func isNull(_ field: Int) throws(PostgresError) -> Bool { try self.field(field).range == nil }

    /// Lends the octets of one field, and its type. Throws where there is NULL or no such field.
    func withValue<Value>(
        _ field: Int, _ body: (Span<UInt8>, ColumnType) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let found = try self.field(field)
        guard let range = found.range else { throw .unexpectedResult(column: field) }
        return try body(octets.span.extracting(range), found.type)
    }

    private func field(_ field: Int) throws(PostgresError) -> Field {
        guard fields.indices.contains(field) else { throw .unexpectedResult(column: field) }
        return fields[field]
    }
}
