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

extension JSONError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unexpectedEnd: "the JSON ends early"
        case .unexpectedByte(let offset): "no JSON at octet \(offset)"
        case .trailingBytes(let offset): "something follows the JSON at octet \(offset)"
        case .invalidUnicode(let offset): "no UTF-8 at octet \(offset)"
        case .duplicateName(let offset): "a repeated name at octet \(offset)"
        case .tooDeep: "the JSON is nested too deeply"
        case .tooManyMembers: "the JSON has too many members"
        case .tooManyElements: "the JSON has too many elements"
        }
    }
}
