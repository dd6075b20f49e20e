import KeyModule
import NativeSSO
import PostgresClient
import Registry

extension CommandFailure {
    /// What a command throws comes here as it is; `nil`: ArgumentParser's own.
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

    /// - Parameter trouble: What was said when connecting, where that is known.
    init(_ error: PostgresError, connecting trouble: String? = nil) {
        switch error {
        case .unavailable(.notWritable):
            self = .infrastructure("the database takes no writes: it is a standby, or read-only")
        case .unavailable(.connectFailed):
            self = .infrastructure(
                "the database cannot be reached: \(trouble ?? PostgresError.Reason.connectFailed.rawValue)")
        case .unavailable(let reason): self = .infrastructure("the database cannot be reached: \(reason.rawValue)")
        case .outcomeUnknown(let reason):
            self = .infrastructure(
                "the connection to the database broke before it answered (\(reason.rawValue)): "
                    + "look whether it was done before you try again")
        case .server(let state, _, _) where state.isMissingSchema:
            self = .infrastructure("the database has not the schema of this version; type: native-sso migrate up")
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
        case .noIDsLeft, .deviceKeyExists, .algorithmDoesNotFit: self = .refused(error.description)
        case .file, .badReference, .otherKey, .cryptography: self = .infrastructure(error.description)
        }
    }

    private static let insufficientPrivilege = "42501"
}
