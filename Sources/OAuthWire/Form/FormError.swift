/// Why a form was refused. The raw value is a reason for the log; nothing of the form is in it.
public enum FormError: String, Error, Sendable, CaseIterable {
    case tooManyParameters = "form_too_many_parameters"
    /// Outside RFC 6749 §8.2: `param-name = 1*( "-" / "." / "_" / DIGIT / ALPHA )`.
    case malformedName = "form_malformed_name"
    case nameTooLong = "form_name_too_long"
    case valueTooLong = "form_value_too_long"
    case malformedPercentEncoding = "form_malformed_percent_encoding"
    case invalidUTF8 = "form_invalid_utf8"
    case controlCharacter = "form_control_character"
    /// A `;` that is not escaped. Every serializer escapes it, and some parsers take it for a separator (HTML 4.01
    /// §B.2.2 asked for that): what stands between us and the caller might see other parameters than we do.
    case unescapedSemicolon = "form_unescaped_semicolon"
    case duplicateParameter = "form_duplicate_parameter"
}
