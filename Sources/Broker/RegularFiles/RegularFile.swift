package import Glibc

/// Reads a whole small file. It refuses anything but a regular file before reading: a FIFO would block, and a device
/// would never end.
package enum RegularFile {
    package struct Contents: Sendable {
        package let octets: [UInt8]
        /// The permission bits of the opened file, even if the path names another file by now.
        package let permissions: mode_t

        /// Whether the file is root's, and its group root's or the effective group.
        let isOfRoot: Bool

        /// Whether the group or others have any access.
        ///
        /// A credential of systemd may be a file of root that the service reads through an access control list. Its mode
        /// is then 0440, where the group's bits stand for the list. A file of a Kubernetes Secret has the same mode and
        /// the group of the container.
        package var isOpenToOthers: Bool { permissions & 0o077 != 0 && !(isOfRoot && permissions == 0o440) }
        /// Whether any local user can change it.
        package var isWritableByAnyone: Bool { permissions & 0o002 != 0 }
    }

    package enum Failure: Error, Sendable, Equatable {
        /// The text comes from `strerror`.
        case cannotOpen(String)
        case cannotRead(String)
        case notRegular
        /// The file exceeds this many octets.
        case tooLong(Int)
    }

    package static func read(_ path: String, limit: Int) throws(Failure) -> Contents {
        // O_NONBLOCK: open must not wait for the other end of a FIFO.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .cannotOpen(text(of: errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .cannotRead(text(of: errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        return Contents(
            octets: try octets(of: descriptor, limit: limit), permissions: status.st_mode & 0o777,
            isOfRoot: status.st_uid == 0 && (status.st_gid == 0 || status.st_gid == getegid()))
    }

    private static func octets(of descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return octets }
            if count < 0 {
                if errno == EINTR { continue }
                throw .cannotRead(text(of: errno))
            }
            guard octets.count + count <= limit else { throw .tooLong(limit) }
            octets.append(contentsOf: buffer.prefix(count))
        }
    }

    private static func text(of code: Int32) -> String { String(cString: strerror(code)) }
}
