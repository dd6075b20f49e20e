/// Why a key could not be loaded, made or used. The text says what to do about it, and holds no secret.
public enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// About one file, or the key directory itself.
    case file(path: String, KeyFileDefect)
    /// A record of the registry that fits no key of this provider.
    case badReference(String)
    /// The file holds another key than the one the registry means.
    case otherKey(path: String, expected: String, found: String)
    /// All 255 ids of refresh-token keys are taken.
    case noIDsLeft
    /// A second device key would make every session unknown.
    case deviceKeyExists(reference: String)
    case algorithmDoesNotFit(KeyAlgorithm, KeyUse)
    /// libcrypto failed where no input is to blame.
    case cryptography(String)

    public var description: String {
        switch self {
        case .file(let path, let defect): "\(path) \(defect.explanation(for: path))"
        case .badReference(let reference):
            "the registry refers to a key as \(reference), which is no key of this provider: was the broker "
                + "configured with another key provider when the key was made?"
        case .otherKey(let path, let expected, let found):
            "\(path) holds the key \(found), but the registry means \(expected): restore the file from where it was "
                + "generated; every broker needs the same key files"
        case .noIDsLeft: "all 255 ids of refresh-token keys are taken: remove a retired one"
        case .deviceKeyExists(let reference):
            "there is a device key already (\(reference)): with another one, every device would be unknown and every "
                + "session lost"
        case .algorithmDoesNotFit(let algorithm, let use): "a key for \(use.rawValue) cannot be \(algorithm.rawValue)"
        case .cryptography(let what): what
        }
    }
}
