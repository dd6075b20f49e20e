import Glibc
import JOSE

/// Reads a key set from this machine. It decides whose tokens are believed, and is read again and again: whatever has its name by
/// then must be a regular file that not everybody may write.
enum KeySetFile {
    static func read(_ path: String) throws(KeySetFetchError) -> [UInt8] {
        // O_NONBLOCK: open must not wait for the other end of a FIFO, and all who wait for keys with it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadableFile }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o002 == 0 else {
            throw .unreadableFile
        }
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return octets }
            if count < 0 {
                if errno == EINTR { continue }
                throw .unreadableFile
            }
            guard octets.count + count <= JSONWebKeySet.largestDocument else { throw .tooLarge }
            octets.append(contentsOf: buffer.prefix(count))
        }
    }
}
