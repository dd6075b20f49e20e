/// What is wrong with the parameters of a well-formed form. The raw value is a reason for the log.
public enum ParameterDefect: String, Error, Sendable, CaseIterable {
    case grantTypeMissing = "grant_type_missing"
    case grantTypeUnknown = "grant_type_unknown"
    /// A parameter that belongs to another grant: a request that means two things is not guessed at.
    case foreignParameter = "parameter_of_other_grant"

    case subjectTokenMissing = "subject_token_missing"
    case subjectTokenTypeMissing = "subject_token_type_missing"
    case subjectTokenTypeUnsupported = "subject_token_type_unsupported"
    case actorTokenMissing = "actor_token_missing"
    case actorTokenTypeMissing = "actor_token_type_missing"
    case actorTokenTypeUnsupported = "actor_token_type_unsupported"
    case requestedTokenTypeUnsupported = "requested_token_type_unsupported"
    case audienceMissing = "audience_missing"
    case audienceRepeated = "audience_repeated"
    case resourcePresent = "resource_present"
    case scopeMalformed = "scope_malformed"
    case refreshTokenMissing = "refresh_token_missing"
    case codeMissing = "code_missing"
    case redirectURIMissing = "redirect_uri_missing"
    case codeVerifierMissing = "code_verifier_missing"
}
