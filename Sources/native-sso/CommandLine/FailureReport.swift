import StrictCoding

/// A failure as standard error shows it: one line each for people, one object for programs.
extension CommandFailure {
    /// Not yet escaped for a terminal.
    var lines: [String] {
        switch self {
        case .refused(let message), .notFound(let message), .infrastructure(let message): ["native-sso: \(message)"]
        case .usage(let message): ["native-sso: \(message)", "See 'native-sso --help'."]
        case .configuration(let error): error.problems.map { $0.line(file: error.file) }
        case .outputClosed: []
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("error", code)
            switch self {
            case .refused(let message), .notFound(let message), .usage(let message), .infrastructure(let message):
                json.member("message", message)
            case .configuration(let error):
                json.member("file", error.file)
                json.member(
                    "problems",
                    array: { json in
                        for problem in error.problems { problem.write(to: &json) }
                    })
            case .outputClosed: break
            }
        }
    }
}

extension ConfigurationProblem {
    /// As editors and people expect it: `FILE:LINE: KEY: MESSAGE`, or with the variable instead of the file.
    func line(file: String, isWarning: Bool = false) -> String {
        let origin =
            switch place.origin {
            case .file: file
            case .line(let line): "\(file):\(line)"
            case .variable(let name): name
            }
        return [origin, isWarning ? "warning" : "", place.key, message].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            switch place.origin {
            case .file: break
            case .line(let line): json.member("line", Int64(line))
            case .variable(let name): json.member("variable", name)
            }
            if !place.key.isEmpty { json.member("key", place.key) }
            json.member("message", message)
        }
    }
}
