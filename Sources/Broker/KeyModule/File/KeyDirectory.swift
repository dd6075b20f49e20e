import Glibc

/// The directory of the key files: 0700, its files 0600, all of them owned by the user that runs this.
///
/// The directory is opened once and every file relative to it, and what is checked is the open file, not the name:
/// nothing can be put in its place between the look and the use.
struct KeyDirectory: ~Copyable {
    let path: String
    private let directory: FileDescriptor

    /// Largest key file accepted: an RSA key of 8192 bits takes 6.5 KiB.
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

    /// The octets of file `name`.
    func read(_ name: String) throws(KeyError) -> SecureBytes {
        unsafe try SecureBytes(capacity: Self.largestFile) { buffer throws(KeyError) in
            do throws(KeyFileDefect) {
                let file = try FileDescriptor(name, at: directory.number, flags: O_RDONLY)
                let status = try file.status
                guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegularFile }
                try Self.check(status)
                guard status.st_size < buffer.count else { throw .tooLarge }
                return unsafe try file.read(into: buffer)
            } catch {
                throw .file(path: path(of: name), error)
            }
        }
    }

    /// Writes a new file `name`: after this returns it is complete and on the disk, whatever happens; before, there
    /// is no file of this name. An existing one is never overwritten.
    func write(_ secret: SecureBytes, to name: String) throws(KeyError) {
        var randomness = SystemRandomNumberGenerator()
        let temporary = ".\(name).\(String(randomness.next() as UInt64, radix: 36))"
        do throws(KeyFileDefect) {
            let file = try FileDescriptor(
                temporary, at: directory.number, flags: O_WRONLY | O_CREAT | O_EXCL, mode: S_IRUSR | S_IWUSR)
            defer { unsafe unlinkat(directory.number, temporary, 0) }
            unsafe try secret.withUnsafeBytes { secret throws(KeyFileDefect) in unsafe try file.write(secret) }
            try file.synchronize()
            // A hard link fails where the name is taken; a rename would replace the file.
            guard unsafe linkat(directory.number, temporary, directory.number, name, 0) == 0 else {
                throw .lastSystemError("link")
            }
            try directory.synchronize()
        } catch {
            throw .file(path: path(of: name), error)
        }
    }

    /// Removes file `name`; nothing happens where there is none.
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
