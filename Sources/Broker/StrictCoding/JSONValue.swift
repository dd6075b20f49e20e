/// One JSON value as it stood in the document, RFC 8259 §3.
///
/// Equality is that of octets: Swift's own `String` equality would call two different protocol values equal because
/// they look alike (Unicode canonical equivalence).
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The text, if this is a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value, if this is a number.
    public var number: JSONNumber? { if case .number(let value) = self { value } else { nil } }
    /// The value, if this is `true` or `false`.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements, if this is an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members, if this is an object.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The elements as texts, if this is an array of strings only.
    public var strings: [String]? {
        guard let array else { return nil }
        var strings: [String] = []
        strings.reserveCapacity(array.count)
        for element in array {
            guard let string = element.string else { return nil }
            strings.append(string)
        }
        return strings
    }
}

extension JSONValue: Equatable {
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameOctets(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}
