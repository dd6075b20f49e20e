/// Why a document was refused. Holds nothing of the document, so that it can be logged.
public enum JSONError: Error, Sendable, Equatable {
    case unexpectedEnd
    case unexpectedByte(offset: Int)
    /// Something follows the value.
    case trailingBytes(offset: Int)
    /// Octets that are not UTF-8, or a `\u` escape that is half of a surrogate pair.
    case invalidUnicode(offset: Int)
    /// Two members of one object have the same name (RFC 8725 §2.4: readers disagree on which counts).
    case duplicateName(offset: Int)
    case tooDeep
    case tooManyMembers
    case tooManyElements
}
