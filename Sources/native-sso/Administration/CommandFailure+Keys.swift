import KeyModule

extension CommandFailure {
    init(_ error: KeyError) {
        switch error {
        case .noIDsLeft, .deviceKeyExists, .algorithmDoesNotFit: self = .refused(error.description)
        case .file, .badReference, .otherKey, .cryptography: self = .infrastructure(error.description)
        }
    }
}
