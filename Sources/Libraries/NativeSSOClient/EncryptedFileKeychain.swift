#if canImport(Glibc) || canImport(Musl)
    import Crypto
    import Dispatch
    import StrictCoding

    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif

    /// A keychain in one encrypted file, for Linux. Several programs may use it at once.
    ///
    /// A lock file beside it, `PATH.lock`, admits one program at a time. A write replaces the file as a whole, so that a
    /// crash leaves the old items or the new ones. The file is encrypted with AES-256-GCM: the key opens all
    /// items. Both files belong to one user (mode 0600).
    public struct EncryptedFileKeychain: Keychain {
        /// Why the file cannot be used.
        public enum Failure: Error, Sendable, Equatable {
            /// The key does not have 32 octets.
            case keyLength
            /// This call failed, with its `errno`.
            case system(String, Int32)
            /// Another user owns the file, or others may read it.
            case notPrivate
            /// Another key encrypted it, or it is damaged. It stays as it is: remove it by hand to begin anew.
            case undecipherable
            /// A newer version of this library wrote it.
            case newerVersion
        }

        /// The first octets of the file, with the version as last.
        private static let mark: [UInt8] = Array("NSSOKEY".utf8) + [1]
        private static let largest = 1 << 20
        /// Waits for the lock, which must not stop Swift's own threads.
        private static let queue = DispatchQueue(label: "native-sso-keychain", attributes: .concurrent)

        private let path: String
        private let key: SymmetricKey

        /// - Parameters:
        ///   - path: The file; it is made by the first write. Its directory must exist.
        ///   - key: 32 octets from a secret store, such as systemd's credentials or the kernel's keyring.
        /// - Throws: ``Failure/keyLength``.
        public init(path: String, key: [UInt8]) throws(Failure) {
            guard key.count == 32 else { throw .keyLength }
            self.path = path
            self.key = SymmetricKey(data: key)
        }

        /// The item, or nil.
        public func item(_ name: String) async throws -> [UInt8]? {
            try await locked { () throws(Failure) in try read()[name] }
        }

        /// Writes or removes the item if it has that revision.
        public func replaceItem(_ name: String, _ current: ItemRevision?, with value: [UInt8]?) async throws -> Bool {
            try await locked { () throws(Failure) in
                var items = try read()
                guard items[name].map(ItemRevision.init) == current else { return false }
                items[name] = value
                try write(items)
                return true
            }
        }

        private func locked<Value: Sendable>(
            _ work: @escaping @Sendable () throws(Failure) -> Value
        ) async throws(Failure) -> Value {
            let result = await withCheckedContinuation { continuation in
                Self.queue.async { continuation.resume(returning: Result { () throws(Failure) in try lock(work) }) }
            }
            return try result.get()
        }

        private func lock<Value>(_ work: () throws(Failure) -> Value) throws(Failure) -> Value {
            let lock = try open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
            defer { close(lock) }
            // Per open file, so that it also holds within a process. Closing it releases it.
            while flock(lock, LOCK_EX) != 0 { if errno != EINTR { throw .system("flock", errno) } }
            return try work()
        }

        private func open(_ path: String, _ flags: Int32) throws(Failure) -> Int32 {
            let file = openFile(path, flags, 0o600)
            guard file >= 0 else { throw .system("open", errno) }
            var status = stat()
            guard fstat(file, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
                close(file)
                throw .notPrivate
            }
            return file
        }

        private func read() throws(Failure) -> [String: [UInt8]] {
            let file: Int32
            do throws(Failure) {
                file = try open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            } catch .system(_, ENOENT) {
                return [:]
            }
            defer { close(file) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = readFile(file, &buffer)
                guard count >= 0 else { throw .system("read", errno) }
                guard count > 0 else { break }
                bytes += buffer.prefix(count)
                guard bytes.count <= Self.largest else { throw .undecipherable }
            }
            return try decrypt(bytes)
        }

        private func decrypt(_ bytes: [UInt8]) throws(Failure) -> [String: [UInt8]] {
            let mark = bytes.prefix(Self.mark.count)
            guard mark.dropLast().elementsEqual(Self.mark.dropLast()), let version = mark.last, mark.count == 8 else {
                throw .undecipherable
            }
            guard version <= Self.mark[7] else { throw .newerVersion }
            guard let box = try? AES.GCM.SealedBox(combined: bytes.dropFirst(mark.count)),
                let plain = try? AES.GCM.open(box, using: key, authenticating: mark),
                let json = (try? JSONReader.parse(Array(plain)))?.object
            else { throw .undecipherable }
            var items: [String: [UInt8]] = [:]
            for member in json.members {
                guard let value = member.value.string.flatMap({ Base64URL.decode($0) }) else { throw .undecipherable }
                items[member.name] = value
            }
            return items
        }

        private func write(_ items: [String: [UInt8]]) throws(Failure) {
            var json = JSONWriter()
            json.object { json in
                for (name, value) in items.sorted(by: { $0.key < $1.key }) {
                    json.member(name, Base64URL.encode(value))
                }
            }
            guard let box = try? AES.GCM.seal(json.bytes, using: key, authenticating: Self.mark),
                let sealed = box.combined
            else { throw .undecipherable }
            let new = path + ".new"
            // What a crashed writer left.
            unlink(new)
            let file = try open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW)
            defer { close(file) }
            var rest = ArraySlice(Self.mark + Array(sealed))
            while !rest.isEmpty {
                let count = writeFile(file, rest)
                guard count > 0 else { throw .system("write", errno) }
                rest = rest.dropFirst(count)
            }
            guard fsync(file) == 0 else { throw .system("fsync", errno) }
            guard rename(new, path) == 0 else { throw .system("rename", errno) }
            try syncDirectory()
        }

        /// Otherwise a power failure could bring the old file back, with a refresh token that is used up.
        private func syncDirectory() throws(Failure) {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            let directory = parts.isEmpty ? "." : parts.count == 1 ? "/" : parts.joined(separator: "/")
            let file = openFile(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
            guard file >= 0 else { throw .system("open", errno) }
            defer { close(file) }
            guard fsync(file) == 0 else { throw .system("fsync", errno) }
        }
    }

    // Apart, because the methods of the type have the same names.
    private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
    private func readFile(_ file: Int32, _ buffer: inout [UInt8]) -> Int {
        buffer.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    }
    private func writeFile(_ file: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    }
#endif
