import Foundation

/// Files that only their owner may read.
enum PrivateFile {
    /// The content of the file; nil if it does not exist.
    static func read(_ path: String) throws(ProviderError) -> [UInt8]? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else { throw .unreadableFile(path) }
        return Array(data)
    }

    /// Creates the file with mode 0600. Its mode is right from the first moment, and nothing that exists is overwritten.
    static func create(_ path: String, _ bytes: [UInt8]) throws(ProviderError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unwritableFile(path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(bytes))
        } catch {
            throw .unwritableFile(path)
        }
    }
}
