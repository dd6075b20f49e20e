import CLibPQ

/// Owns one `PGresult`.
@safe struct ResultHandle: ~Copyable {
    private let raw: OpaquePointer

    init(_ raw: OpaquePointer) { unsafe self.raw = unsafe raw }

    deinit { unsafe PQclear(raw) }

    var status: ExecStatusType { unsafe PQresultStatus(raw) }

    /// The command tag: `COMMIT`, `ROLLBACK`, `UPDATE 1`.
    var command: String { unsafe String(cString: PQcmdStatus(raw)) }

    func field(_ code: DiagnosticField) -> String? {
        unsafe PQresultErrorField(raw, code.rawValue).map { unsafe String(cString: $0) }
    }

    // MARK: Rows; the positions must be in range

    var columns: Int { Int(unsafe PQnfields(raw)) }

    func name(of column: Int) -> String {
        unsafe PQfname(raw, Int32(truncatingIfNeeded: column)).map { unsafe String(cString: $0) } ?? ""
    }

    var rows: Int { Int(unsafe PQntuples(raw)) }

    func isNull(row: Int, column: Int) -> Bool {
        unsafe PQgetisnull(raw, Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column)) != 0
    }

    /// Lends the octets of one value that is not NULL, and its type.
    func withValue<Value>(
        row: Int, column: Int, _ body: (Span<UInt8>, ColumnType) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let buffer = unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(raw, row, column), count: Int(PQgetlength(raw, row, column)))
        let octets = unsafe Span<UInt8>(_unsafeBytes: buffer)
        return try body(octets, ColumnType(unsafe PQftype(raw, column)))
    }
}

/// The fields of an error or notice, `postgres_ext.h`.
enum DiagnosticField: Int32 {
    case sqlState = 67  // 'C'
    case message = 77  // 'M'
    case detail = 68  // 'D'
    case constraint = 110  // 'n'
    case sourceFunction = 82  // 'R'
}
