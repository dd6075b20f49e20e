import Glibc

/// The directory of the key files: mode 0700, files 0600, all owned by the effective user.
///
/// The directory is opened once, and files relative to it. Checks apply to the open file, not to its name, so an
/// attacker cannot swap it between check and use.
struct KeyDirectory: ~Copyable {
    let path: String
    private let directory: FileDescriptor

    /// In octets: an RSA key of 8192 bits takes 6.5 KiB.
    private static let largestFile = 16 << 10

    init(_ path: String) throws(KeyError) {
        self.path = path
        directory = try Self.open(path)
    }

    private static func open(_ path: String) throws(KeyError) -> FileDescriptor {
        do throws(KeyFileDefect) {
            let directory = try FileDescriptor(path, flags: O_RDONLY | O_DIRECTORY)
            try check(try directory.status)
            return directory
        } catch {
            throw .file(path: path, error == .missing ? .missingDirectory : error)
        }
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    func read(_ name: String) throws(KeyError) -> SecureBytes {
        try Self.read(name, at: directory.number, path: path(of: name)) { status throws(KeyFileDefect) in
            try Self.check(status)
        }
    }

    private static func read(
        _ name: String, at directory: Int32, path: String, check: (stat) throws(KeyFileDefect) -> Void
    ) throws(KeyError) -> SecureBytes {
        unsafe try SecureBytes(capacity: largestFile) { buffer throws(KeyError) in
            do throws(KeyFileDefect) {
                let file = try FileDescriptor(name, at: directory, flags: O_RDONLY)
                let status = try file.status
                guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegularFile }
                try check(status)
                guard status.st_size < buffer.count else { throw .tooLarge }
                return unsafe try file.read(into: buffer)
            } catch {
                throw .file(path: path, error)
            }
        }
    }

    /// Copies the file `source`, which may be a symbolic link and of another user, to `name`.
    /// - Returns: `false`: the directory has this file already.
    func install(_ source: String, as name: String) throws(KeyError) -> Bool {
        guard let target = unsafe realpath(source, nil) else {
            throw .file(path: source, .lastSystemError("realpath"))
        }
        defer { unsafe free(target) }
        let secret = try unsafe Self.read(String(cString: target), at: AT_FDCWD, path: source) { _ in }
        do throws(KeyError) {
            try write(secret, to: name)
            return true
        } catch .file(_, .exists) {
            guard try read(name).hasSameOctets(as: secret) else { throw .file(path: path(of: name), .differs) }
            return false
        }
    }

    func has(_ name: String) throws(KeyError) -> Bool {
        do throws(KeyFileDefect) {
            _ = try FileDescriptor(name, at: directory.number, flags: O_RDONLY)
            return true
        } catch .missing {
            return false
        } catch {
            throw .file(path: path(of: name), error)
        }
    }

    func mode(of name: String) throws(KeyError) -> UInt32 {
        do throws(KeyFileDefect) {
            return try FileDescriptor(name, at: directory.number, flags: O_RDONLY).status.st_mode
        } catch {
            throw .file(path: path(of: name), error)
        }
    }

    /// Writes a new file `name` atomically: when this returns, the file is complete and on disk. Never overwrites an
    /// existing file.
    func write(_ secret: SecureBytes, to name: String) throws(KeyError) {
        var randomness = SystemRandomNumberGenerator()
        let temporary = ".\(name).\(String(randomness.next() as UInt64, radix: 36))"
        do throws(KeyFileDefect) {
            let file = try FileDescriptor(
                temporary, at: directory.number, flags: O_WRONLY | O_CREAT | O_EXCL, mode: S_IRUSR | S_IWUSR)
            defer { unsafe unlinkat(directory.number, temporary, 0) }
            unsafe try secret.withUnsafeBytes { secret throws(KeyFileDefect) in unsafe try file.write(secret) }
            try file.synchronize()
            // A hard link fails if the name exists; a rename would replace the file.
            guard unsafe linkat(directory.number, temporary, directory.number, name, 0) == 0 else {
                throw .lastSystemError("link")
            }
            try directory.synchronize()
        } catch {
            throw .file(path: path(of: name), error)
        }
    }

    /// Removes file `name`. Does nothing if it does not exist.
    func remove(_ name: String) throws(KeyError) {
        do throws(KeyFileDefect) {
            guard unsafe unlinkat(directory.number, name, 0) == 0 || errno == ENOENT else {
                throw .lastSystemError("unlink")
            }
            try directory.synchronize()
        } catch {
            throw .file(path: path(of: name), error)
        }
    }

    private static func check(_ status: stat) throws(KeyFileDefect) {
        guard status.st_uid == geteuid() else { throw .wrongOwner(uid: status.st_uid, expected: geteuid()) }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(mode: status.st_mode) }
    }
}

struct FileDescriptor: ~Copyable {
    let number: Int32

    /// Opens `name`, relative to `directory`. Does not follow a final symbolic link, is not inherited by child
    /// processes, and does not block on a FIFO.
    init(_ name: String, at directory: Int32 = AT_FDCWD, flags: Int32, mode: mode_t = 0) throws(KeyFileDefect) {
        number = unsafe openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode)
        guard number < 0 else { return }
        let defect = KeyFileDefect.lastSystemError("open")
        var status = stat()
        // Another user's private file cannot even be opened.
        if case .system(_, EACCES, _) = defect,
            unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_uid != geteuid()
        {
            throw .wrongOwner(uid: status.st_uid, expected: geteuid())
        }
        throw defect
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

    /// Reads to the end of the file or of `buffer`. Returns the number of octets.
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

    /// Waits until the file, or the directory's entries, are on disk.
    func synchronize() throws(KeyFileDefect) {
        guard fsync(number) == 0 else { throw .lastSystemError("fsync") }
    }
}

extension KeyFileDefect {
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
