import Foundation

/// Messages for whoever watches; results go to standard output.
enum StandardError {
    static func write(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }
}

/// Results: lines that arrive even if nobody waits for the end of the program.
enum StandardOutput {
    static func write(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }
}
