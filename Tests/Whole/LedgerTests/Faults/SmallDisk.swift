import Foundation
import Glibc
import BrokerHarness

/// A small file system that a helper process mounts in a namespace of its own. Paths go through that process, and the
/// file system disappears with it.
final class SmallDisk: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether this machine lets us make one. Says so loudly where it does not.
    static let isPossible: Bool = {
        let isPossible = geteuid() == 0 && (try? holder(mebibytes: 1)) != nil
        if !isPossible {
            let text = "nobody lets us mount a file system here: the tests of a full disk are skipped\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
        return isPossible
    }()

    private let holder: ManagedProcess
    /// A directory in it that belongs to PostgreSQL.
    let directory: String

    init(mebibytes: Int) throws {
        holder = try Self.holder(mebibytes: mebibytes)
        directory = Self.directory(of: holder)
    }

    deinit { holder.signal(SIGKILL) }

    private var filler: String { directory + "/filler" }

    /// Writes until there is no room for another octet.
    func fill() throws {
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "cannot open \(filler): errno \(errno)") }
        defer { close(descriptor) }
        for size in [1 << 20, 1 << 12, 1] {
            let zeros = [UInt8](repeating: 0, count: size)
            while write(descriptor, zeros, size) > 0 {}
            guard errno == ENOSPC else { throw Failure(description: "the disk is not full, but errno \(errno)") }
        }
    }

    /// Gives back what ``fill()`` took.
    func free() throws {
        guard unlink(filler) == 0 else { throw Failure(description: "cannot remove \(filler): errno \(errno)") }
    }

    /// Mounts on `/mnt`, which every system has, and then takes on the server's account, so that the server may pass
    /// through.
    private static let script = """
        mount -t tmpfs -o size="$1"m,mode=0711 tmpfs /mnt && mkdir /mnt/disk && chown postgres:postgres /mnt/disk || exit 1
        exec setpriv --reuid=postgres --regid=postgres --init-groups -- sleep infinity
        """

    private static func directory(of holder: ManagedProcess) -> String { "/proc/\(holder.pid)/root/mnt/disk" }

    private static func holder(mebibytes: Int) throws -> ManagedProcess {
        let log = FileManager.default.temporaryDirectory.appending(path: "small-disk-\(Unguessable.make()).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let holder = try ManagedProcess(
            "/usr/bin/unshare",
            ["--mount", "--propagation", "private", "/bin/sh", "-c", script, "disk", String(mebibytes)], log: log)
        // Some milliseconds, once for each test. It ends where it cannot mount.
        while holder.isRunning {
            var status = stat()
            if stat(directory(of: holder), &status) == 0, status.st_uid != 0 { return holder }
            usleep(5000)
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        holder.signal(SIGKILL)
        throw Failure(description: "no file system was mounted: \(text)")
    }
}
