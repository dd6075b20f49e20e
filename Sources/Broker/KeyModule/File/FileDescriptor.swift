import Glibc

/// An open file, closed when its owner goes.
struct FileDescriptor: ~Copyable {
    let number: Int32

    /// Opens `name`, relative to `directory` if there is one. Never follows a symbolic link in the last component,
    /// never leaks into a child process, never waits for a FIFO's other end.
    init(_ name: String, at directory: Int32 = AT_FDCWD, flags: Int32, mode: mode_t = 0) throws(KeyFileDefect) {
        number = unsafe openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)
        guard number >= 0 else { throw .lastSystemError("open") }
    }

    deinit {
        _ = close(number)
    }

    var status: stat {
        get throws(KeyFileDefect) {
            var status = stat()
            guard unsafe fstat(number, &status) == 0 else { throw .lastSystemError("fstat") }
            return status
        }
    }

    /// Reads to the end of the file or of `buffer`; how much there was.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileDefect) -> Int {
        var total = 0
        while total < buffer.count {
            let count = unsafe Glibc.read(number, buffer.baseAddress?.advanced(by: total), buffer.count - total)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .lastSystemError("read") }
            if count == 0 { break }
            total += count
        }
        return total
    }

    func write(_ octets: UnsafeRawBufferPointer) throws(KeyFileDefect) {
        var total = 0
        while total < octets.count {
            let count = unsafe Glibc.write(number, octets.baseAddress?.advanced(by: total), octets.count - total)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .lastSystemError("write") }
            total += count
        }
    }

    /// Returns when the file, or the entries of the directory, are on the disk.
    func synchronize() throws(KeyFileDefect) {
        guard fsync(number) == 0 else { throw .lastSystemError("fsync") }
    }
}

extension KeyFileDefect {
    /// What `errno` says.
    static func lastSystemError(_ call: String) -> KeyFileDefect {
        let code = errno
        switch code {
        case ENOENT: return .missing
        case ELOOP: return .symbolicLink
        case ENOTDIR: return .notDirectory
        case EEXIST: return .exists
        default:
            var text = [CChar](repeating: 0, count: 128)
            guard unsafe strerror_r(code, &text, text.count) == 0 else {
                return .system(call: call, errno: code, message: "error \(code)")
            }
            let message = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            return .system(call: call, errno: code, message: String(decoding: message, as: UTF8.self))
        }
    }
}
