import Dispatch
import Glibc
import NativeSSO
import PostgresClient
import Synchronization

/// The file `database` in the state directory: the broker's id, and what it remembers of the database. So a broker that
/// starts anew notices that the database has gone back, too. See ``DatabaseHistory``.
///
/// One line: the id, the number and the acceptance. It is replaced as a whole, and is on the disk before it has its name.
final class MemoryFile: Sendable {
    struct Contents: Sendable, Equatable {
        var broker: UniqueID
        var memory = DatabaseHistory.Memory()
    }

    struct Failure: Error, Equatable { let text: String }

    private static let name = "database"
    private static let newName = "database.new"
    /// Longer than the longest line, in octets.
    private static let limit = 128

    /// Stays open, so that no path is looked up again.
    private let directory: Int32
    fileprivate let owner: uid_t
    private let path: String
    /// A disk may hang, and must not hold the threads of requests.
    private let queue = DispatchQueue(label: "state directory")
    private let isWriting = Atomic(false)

    /// - Parameter path: The state directory. Only its owner may write there: this process, or root looks at it.
    init(in path: String) throws(Failure) {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else { throw Failure(text: "cannot open \(path): \(Self.errorText)") }
        var status = stat()
        guard fstat(directory, &status) == 0, status.st_uid == geteuid() || geteuid() == 0,
            status.st_mode & 0o022 == 0
        else {
            close(directory)
            throw Failure(text: "\(path) is not a directory of the broker's own that only it may write")
        }
        self.path = path
        self.directory = directory
        owner = status.st_uid
    }

    deinit { close(directory) }

    /// - Returns: `nil`: there is no file yet.
    func read() throws(Failure) -> Contents? {
        let file = openat(directory, Self.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw Failure(text: "cannot open \(path)/\(Self.name): \(Self.errorText)") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_uid == owner
        else { throw Failure(text: "\(path)/\(Self.name) is not a file of the broker's own with one name") }
        var octets = [UInt8](repeating: 0, count: Self.limit)
        let count = Glibc.read(file, &octets, octets.count)
        guard count >= 0, let contents = Self.contents(octets.prefix(count)) else {
            throw Failure(text: "\(path)/\(Self.name) does not say what the broker remembers of the database")
        }
        return contents
    }

    /// Begins to write, unless a write has not ended yet: the next contents say more.
    /// - Parameter report: Told once the contents are on the disk, or what went wrong.
    func write(_ contents: Contents, _ report: @escaping @Sendable (_ problem: String?) -> Void) {
        guard !isWriting.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async { [self] in
            var problem: String?
            do throws(Failure) { try replace(by: contents) } catch { problem = error.text }
            isWriting.store(false, ordering: .releasing)
            report(problem)
        }
    }

    private func replace(by contents: Contents) throws(Failure) {
        // Another broker with the same directory uses the same names.
        while flock(directory, LOCK_EX) != 0, errno == EINTR {}
        defer { flock(directory, LOCK_UN) }
        _ = unlinkat(directory, Self.newName, 0)
        let file = openat(
            directory, Self.newName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
        guard file >= 0 else { throw Failure(text: "cannot make \(path)/\(Self.newName): \(Self.errorText)") }
        let line = Self.line(contents)
        let isWritten = Glibc.write(file, line, line.count) == line.count && fsync(file) == 0
        let problem = isWritten ? nil : Self.errorText
        close(file)
        guard problem == nil, renameat(directory, Self.newName, directory, Self.name) == 0, fsync(directory) == 0 else {
            throw Failure(text: "cannot write \(path)/\(Self.name): \(problem ?? Self.errorText)")
        }
    }

    private static func line(_ contents: Contents) -> [UInt8] {
        Array("\(contents.broker) \(contents.memory.number) \(contents.memory.acceptance)\n".utf8)
    }

    /// `nil` unless these are exactly the octets that ``line(_:)`` makes.
    private static func contents(_ octets: ArraySlice<UInt8>) -> Contents? {
        let parts = String(decoding: octets, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard parts.count == 3, let broker = UniqueID(String(parts[0])), let number = Int64(parts[1]),
            let acceptance = Int64(parts[2])
        else { return nil }
        let contents = Contents(
            broker: broker, memory: DatabaseHistory.Memory(number: number, acceptance: acceptance))
        return number >= 0 && acceptance >= 0 && line(contents).elementsEqual(octets) ? contents : nil
    }

    private static var errorText: String { String(cString: strerror(errno)) }
}

extension Configuration.Database {
    /// The file in the state directory and what is in it; `nil`: no directory is configured.
    ///
    /// A file that cannot be read might say that this database has gone back.
    func memoryFile() throws(CommandFailure) -> (file: MemoryFile, contents: MemoryFile.Contents?)? {
        guard let stateDirectory else { return nil }
        do throws(MemoryFile.Failure) {
            let file = try MemoryFile(in: stateDirectory)
            guard file.owner == geteuid() else {
                throw MemoryFile.Failure(text: "\(stateDirectory) belongs to another user")
            }
            return (file, try file.read())
        } catch {
            throw .infrastructure(
                "database.state_directory: \(error.text); if the database is the right one, remove the file and start again"
            )
        }
    }
}
