import CLibPQ

/// What the server remarked beside its answers on one connection. Confined to the connection's thread, as libpq calls
/// the receiver from within the calls that read.
final class NoticeLog {
    /// A commit was not confirmed by the standby: it may be lost in a failover, though the server calls it a success.
    var sawUnreplicatedCommit = false
    /// The server ends the session; between two calls libpq passes its farewell on as a notice.
    private(set) var sawFarewell = false

    /// Known by the function that raises it, since the text is translated to the server's language.
    fileprivate func take(state: SQLState?, sourceFunction: String?, detail: String?) {
        if state?.isShutdown == true { sawFarewell = true }
        if sourceFunction == "SyncRepWaitForLSN" || detail?.contains("committed locally") == true {
            sawUnreplicatedCommit = true
        }
    }
}

/// The receiver that libpq calls for each notice. A global function: a closure could inherit an actor.
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
