import KeyModule
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

/// The reason why a command failed. It determines the exit status.
enum CommandFailure: Error, Sendable {
    /// The command is valid, but a rule forbids it.
    case refused(String)
    /// What the command names does not exist.
    case notFound(String)
    /// The command line is wrong.
    case usage(String)
    case configuration(ConfigurationError)
    /// A dependency of the command does not work. The text never contains a password.
    case infrastructure(String)
    /// The reader closed standard output. The command reports nothing.
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
        case .refused(let message), .notFound(let message), .usage(let message), .infrastructure(let message):
            // A message of several problems has a line for each.
            message.split(separator: "\n").map { "native-sso: \($0)" }
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
    /// In the form that editors parse: `FILE:LINE: KEY: MESSAGE`, or with the variable instead of the file.
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

/// The exit status of the program.
enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0
    case refused = 1
    case usage = 2
    case infrastructure = 3

    /// The text in the guide.
    var help: String {
        switch self {
        case .done: "Done. Also if the reader of standard output went away early: `… | head -1`."
        case .refused: "Refused, or not found: the answer to a valid command is no."
        case .usage: "A mistake on the command line, in the environment or in a file named there. Nothing was done."
        case .infrastructure:
            "Something that the command needs does not work: the database, the key directory, the disk."
        }
    }
}

extension CommandFailure {
    /// `nil` for an error of ArgumentParser.
    init?(causedBy error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as ConfigurationError: self = .configuration(error)
        case let error as AdministrationError: self.init(error)
        case let error as KeyError: self.init(error)
        default: return nil
        }
    }

    private init(_ error: AdministrationError) {
        switch error {
        case .notFound(let what): self = .notFound("\(what) does not exist")
        case .alreadyExists(let what): self = .refused("\(what) exists already")
        case .refused(let rule): self = .refused("the registry does not allow it: \(rule)")
        case .database(let error): self.init(error)
        case .corrupt(let column): self = .infrastructure("the registry holds a \(column) that means nothing here")
        }
    }

    /// - Parameter failure: The last error of connecting, if known.
    init(_ error: PostgresError, connecting failure: String? = nil) {
        switch error {
        case .unavailable(.notWritable):
            self = .infrastructure("the database takes no writes: it is a standby, or read-only")
        case .unavailable(.transactionPooling): self = .infrastructure(PostgresError.Reason.transactionPoolingRemedy)
        case .unavailable(.connectFailed):
            self = .infrastructure(
                "the database cannot be reached: \(failure ?? PostgresError.Reason.connectFailed.rawValue)")
        case .unavailable(let reason): self = .infrastructure("the database cannot be reached: \(reason.rawValue)")
        case .outcomeUnknown(let reason):
            self = .infrastructure(
                "the connection to the database broke before it answered (\(reason.rawValue)): "
                    + "look whether it was done before you try again")
        case .server(let state, _, _) where state.isMissingSchema:
            self = .infrastructure("the database does not have the schema of this version; type: native-sso migrate up")
        case .server(let state, _, _) where state.code == Self.insufficientPrivilege:
            self = .infrastructure(
                "the database user may not do this: administration needs a member of the role native_sso_admin; "
                    + "give its connection in NATIVE_SSO_DATABASE_URL or in a configuration of its own (--config)")
        case .server(let state, let message, _):
            self = .infrastructure("the database says \(state): \(message)")
        case .unexpectedResult: self = .infrastructure("the database answered with something else than was asked for")
        }
    }

    private init(_ error: KeyError) {
        switch error {
        case .noIDsLeft, .deviceKeyExists, .algorithmDoesNotFit, .token(.unsupported):
            self = .refused(error.description)
        case .signer(.readOnly): self = .usage(error.description)
        case .file, .badReference, .otherKey, .token, .signer, .store, .noFIPS, .cryptography:
            self = .infrastructure(error.description)
        }
    }

    private static let insufficientPrivilege = "42501"
}
