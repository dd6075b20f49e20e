package import Foundation

extension FileHandle {
    /// The file `path`, made readable by its owner alone if it is not there, to be written at its end. No child
    /// inherits it.
    package convenience init(appendingTo path: String) throws(SystemCallFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallFailure(call: "open \(path)", errno: errno) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
