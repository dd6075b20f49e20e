package import Foundation
import Glibc

/// A one-way channel to or from a child whose ends no other child inherits: as long as any process holds the writing end,
/// the reader never sees the end.
///
/// A pair of sockets, because those are close-on-exec from their first moment.
package struct PrivateChannel: Sendable {
    package let reading: FileHandle
    package let writing: FileHandle

    package init() throws(SystemCallFailure) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemCallFailure(call: "socketpair", errno: errno)
        }
        reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}

extension FileHandle {
    /// Writes to the end of a ``PrivateChannel``. A closed reader causes an error, not SIGPIPE.
    package func send(_ text: String) throws(SystemCallFailure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(fileDescriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 || errno == EINTR else { throw SystemCallFailure(call: "send", errno: errno) }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
