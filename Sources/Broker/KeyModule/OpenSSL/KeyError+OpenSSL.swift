import COpenSSL

extension KeyError {
    /// A call into libcrypto that failed, with what the error queue of this thread says about it: the library's fixed
    /// texts, never the data that may come with an error.
    ///
    /// Takes everything out of the queue at once, so that no later failure on this thread is explained by this one.
    static func openSSL(_ operation: StaticString) -> KeyError {
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            if let reason = unsafe ERR_reason_error_string(code) {
                unsafe reasons.append(String(cString: reason))
            } else {
                reasons.append("error \(code)")
            }
        }
        return .cryptography("\(operation) failed" + (reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")))
    }
}
