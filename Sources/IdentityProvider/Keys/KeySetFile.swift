import JOSE
import RegularFiles

/// Reads a key set from this machine. It decides whose tokens are believed, and is read again and again: whatever has its name by
/// then must be a regular file that not everybody may write.
enum KeySetFile {
    static func read(_ path: String) throws(KeySetFetchError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            let file = try RegularFile.read(path, limit: JSONWebKeySet.largestDocument)
            if !file.isWritableByAnyone { return file.octets }
        } catch {
            if case .tooLong = error { throw .tooLarge }
        }
        throw .unreadableFile
    }
}
