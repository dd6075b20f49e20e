import Foundation

/// A one-way channel to or from a child, whose ends no other child inherits: as long as any process holds the writing end
/// the reader never sees the end.
///
/// A pair of sockets, because those are close-on-exec from their first moment.
struct PrivateChannel {
    let reading: FileHandle
    let writing: FileHandle

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw CocoaError(.fileReadUnknown)
        }
        reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
