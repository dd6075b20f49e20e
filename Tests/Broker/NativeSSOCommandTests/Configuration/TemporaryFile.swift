import Foundation
import Glibc
import Testing

/// A temporary file, deleted with its owner.
final class TemporaryFile {
    let path: String

    init(_ text: String, mode: mode_t = 0o600) throws {
        path = NSTemporaryDirectory() + "native-sso-test-" + UUID().uuidString
        try Data(text.utf8).write(to: URL(filePath: path))
        try #require(chmod(path, mode) == 0)
    }

    deinit { unlink(path) }
}
