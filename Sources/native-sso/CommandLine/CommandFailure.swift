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
}
