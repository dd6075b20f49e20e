/// Why a form was refused.
public enum FormError: Error, Sendable, CaseIterable {
    case tooManyParameters
    /// Outside RFC 6749 §8.2: `param-name = 1*( "-" / "." / "_" / DIGIT / ALPHA )`.
    case malformedName
    case nameTooLong
    case valueTooLong
    case malformedPercentEncoding
    case invalidUTF8
    case controlCharacter
    /// A `;` that is not escaped. Every serializer escapes it, and some parsers take it for a separator (HTML 4.01
    /// §B.2.2 asked for that): what stands between us and the caller might see other parameters than we do.
    case unescapedSemicolon
    case duplicateParameter
}
