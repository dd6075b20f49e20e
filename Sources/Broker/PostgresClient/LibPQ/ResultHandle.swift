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

    /// Passes the octets and type of one non-NULL value to `body`.
    func withValue<Value>(row: Int, column: Int, _ body: (Span<UInt8>, ColumnType) -> Value) -> Value {
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let buffer = unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(raw, row, column), count: Int(PQgetlength(raw, row, column)))
        let octets = unsafe Span<UInt8>(_unsafeBytes: buffer)
        return body(octets, ColumnType(unsafe PQftype(raw, column)))
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

/// Notices of one connection. Confined to the connection's thread, because libpq calls the receiver from its read
/// functions.
final class NoticeLog {
    /// A standby did not confirm a commit. The server reports success, but a failover may lose the commit.
    var sawUnreplicatedCommit = false
    /// The server ends the session. Between calls, libpq delivers its last message as a notice.
    private(set) var sawFarewell = false

    /// Recognizes a notice by the server function that raises it, because the text is localized.
    fileprivate func take(state: SQLState?, sourceFunction: String?, detail: String?) {
        if state?.isShutdown == true { sawFarewell = true }
        if sourceFunction == "SyncRepWaitForLSN" || detail?.contains("committed locally") == true {
            sawUnreplicatedCommit = true
        }
    }
}

/// The notice receiver for libpq. A global function, because a closure could inherit an actor.
func receiveNotice(_ log: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
    guard let log = unsafe log, let notice = unsafe notice else { return }
    let field = { (code: DiagnosticField) in
        unsafe PQresultErrorField(notice, code.rawValue).map { unsafe String(cString: $0) }
    }
    unsafe Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue()
        .take(
            state: field(.sqlState).map { SQLState($0) }, sourceFunction: field(.sourceFunction), detail: field(.detail)
        )
}
