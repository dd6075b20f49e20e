import StrictCoding

/// Why a command did not do what it was asked. Carries its exit status, so that no command picks a number.
enum CommandFailure: Error, Sendable {
    /// Understood, and the answer is no.
    case refused(String)
    /// What the command names does not exist.
    case notFound(String)
    /// What was written on the command line makes no sense.
    case usage(String)
    case configuration(ConfigurationError)
    /// Something the command needs does not work. Says what, never with which password.
    case infrastructure(String)
    /// Nobody reads standard output any more. Not worth a word.
    case outputClosed

    var status: ExitStatus {
        switch self {
        case .refused, .notFound: .refused
        case .usage, .configuration: .usage
        case .infrastructure: .infrastructure
        case .outputClosed: .done
        }
    }

    /// For programs, as `error` of the JSON object.
    var code: String {
        switch self {
        case .refused: "refused"
        case .notFound: "not_found"
        case .usage: "usage"
        case .configuration: "configuration"
        case .infrastructure: "infrastructure"
        case .outputClosed: "output_closed"
        }
    }

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
                json.member("problems", array: { json in for problem in error.problems { problem.write(to: &json) } })
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

/// What the program tells the shell. The one place that says so.
enum ExitStatus: Int32, Sendable {
    /// Done. Also where the reader of standard output went away early (`… | head -1`): it has what it wanted.
    case done = 0
    /// Refused, or not there: the command was understood, and its answer is no.
    case refused = 1
    /// The operator wrote something wrong: on the command line, in the environment, or in a file that was named there,
    /// the configuration included. Nothing was done.
    case usage = 2
    /// Something the command needs does not work: the database, the key directory, the disk under standard output.
    case infrastructure = 3
}
