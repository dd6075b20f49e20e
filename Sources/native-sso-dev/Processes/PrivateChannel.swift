import Foundation

/// A one-way channel to or from a child whose ends no other child inherits: as long as any process holds the writing end,
/// the reader never sees the end.
///
/// A pair of sockets, because those are made close-on-exec in one step.
struct PrivateChannel {
    let reading: FileHandle
    let writing: FileHandle

    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EMFILE)
        }
        reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
