import Foundation

/// Messages for the user. Results go to standard output.
enum StandardError {
    static func write(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }
}

/// Results, written line by line without a buffer.
enum StandardOutput {
    static func write(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }
}
