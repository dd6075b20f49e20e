/// What is wrong with the parameters of a well-formed form.
public enum ParameterDefect: Error, Sendable, CaseIterable {
    case grantTypeMissing
    case grantTypeUnknown
    /// A parameter that belongs to another grant: a request that means two things is not guessed at.
    case foreignParameter

    case subjectTokenMissing
    case subjectTokenTypeMissing
    case subjectTokenTypeUnsupported
    case actorTokenMissing
    case actorTokenTypeMissing
    case actorTokenTypeUnsupported
    case requestedTokenTypeUnsupported
    case audienceMissing
    case audienceRepeated
    case resourcePresent
    case scopeMalformed
    case refreshTokenMissing
    case codeMissing
    case redirectURIMissing
    case codeVerifierMissing
}
