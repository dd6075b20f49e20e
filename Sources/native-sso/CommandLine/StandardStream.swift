import Glibc

/// Standard output and standard error, unbuffered. SIGPIPE is ignored by the program, so that a reader who goes away shows
/// as an error here.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    func write(_ octets: [UInt8]) throws(CommandFailure) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw .outputClosed
            } else if errno != EINTR {
                throw .infrastructure("cannot write to standard \(self): \(String(cString: strerror(errno)))")
            }
        }
    }
}
