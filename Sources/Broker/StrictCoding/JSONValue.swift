/// One JSON value, RFC 8259 §3.
///
/// Equality compares octets. Swift's `String` equality uses Unicode canonical equivalence, so different protocol
/// values could be equal.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var number: JSONNumber? { if case .number(let value) = self { value } else { nil } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// Its JSON text, without whitespace.
    package var octets: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

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

/// The members of one JSON object in document order, with unique names.
public struct JSONObject: Sendable, Equatable {
    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSONValue

        public static func == (a: Member, b: Member) -> Bool { a.name.hasSameOctets(as: b.name) && a.value == b.value }
    }

    /// In document order.
    public private(set) var members: [Member] = []

    public init() {}

    /// Empty, with room for as many members.
    init(capacity: Int) { members.reserveCapacity(capacity) }

    /// The value of the member with exactly this name.
    ///
    /// Setting a value replaces the member in place or appends one; setting nil removes it.
    public subscript(_ name: String) -> JSONValue? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index] = Member(name: name, value: value)
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    public var count: Int { members.count }
    public var isEmpty: Bool { members.isEmpty }
    public var names: [String] { members.map(\.name) }

    /// Whether a member with this name exists, even if its value is `null`.
    public func contains(_ name: String) -> Bool { index(of: name) != nil }

    /// The value of member `name` as this type; nil if it is absent or of another type. The accessors below do the
    /// same.
    public func string(_ name: String) -> String? { self[name]?.string }
    public func number(_ name: String) -> JSONNumber? { self[name]?.number }
    public func bool(_ name: String) -> Bool? { self[name]?.bool }
    public func array(_ name: String) -> [JSONValue]? { self[name]?.array }
    public func strings(_ name: String) -> [String]? { self[name]?.strings }
    public func object(_ name: String) -> JSONObject? { self[name]?.object }
    /// A string, or an array of strings, as `aud` may be: RFC 7519 §4.1.3.
    public func oneOrMoreStrings(_ name: String) -> [String]? { string(name).map { [$0] } ?? strings(name) }

    /// Its JSON text, without whitespace.
    public var octets: [UInt8] { JSONValue.object(self).octets }

    /// Appends a member. Returns false and changes nothing if the name exists.
    mutating func append(_ name: String, _ value: JSONValue) -> Bool {
        guard index(of: name) == nil else { return false }
        members.append(Member(name: name, value: value))
        return true
    }

    private func index(of name: String) -> Int? {
        // Not `==`: it normalizes what is not ASCII, and an attacker chooses the names.
        for index in members.indices where members[index].name.hasSameOctets(as: name) { return index }
        return nil
    }
}

/// A JSON number in its exact text, RFC 8259 §6. Conversions are checked and never trap.
public struct JSONNumber: Sendable, Equatable {
    /// The text in the document: ASCII that matches the grammar of RFC 8259 §6.
    public let text: String

    /// The caller has checked the grammar.
    init(checked text: String) { self.text = text }

    public init(_ value: Int64) { text = String(value) }

    /// The value, if the text is an integer (no point, no exponent) that fits.
    public var int64: Int64? { Int64(text) }

    /// The value as a NumericDate (RFC 7519 §2) in whole seconds, rounded down.
    ///
    /// nil if the result does not fit, for example `1e308`: a token must not get an endless lifetime by overflow.
    public var wholeSeconds: Int64? {
        if let int64 { return int64 }
        guard let decimal = Decimal(text) else { return nil }
        return decimal.floor
    }
}

/// A parsed number: `digits` × 10^(`integerDigits` − number of digits).
private struct Decimal {
    private var isNegative = false
    /// Significant digits, without leading zeros.
    private var digits: [UInt8] = []
    /// Digits before the decimal point; an exponent can make it negative or larger than the count of `digits`.
    private var integerDigits = 0

    /// nil if the exponent does not fit in an `Int`.
    init?(_ text: String) {
        var seenPoint = false
        var exponent: Substring?
        for index in text.utf8.indices {
            switch text.utf8[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): seenPoint = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = text[text.utf8.index(after: index)...]
            case let character:
                let digit = character &- UInt8(ascii: "0")
                if digit > 0 || !digits.isEmpty {
                    digits.append(digit)
                    if !seenPoint { integerDigits += 1 }
                } else if seenPoint {
                    integerDigits -= 1
                }
            }
            if exponent != nil { break }
        }
        guard let exponent else { return }
        guard let value = Int(exponent) else { return nil }
        let (sum, overflow) = integerDigits.addingReportingOverflow(value)
        guard !overflow else { return nil }
        integerDigits = sum
    }

    /// The largest integer that is not above the number; nil if it does not fit in 64 bits.
    var floor: Int64? {
        guard !digits.isEmpty else { return 0 }
        guard integerDigits <= 19 else { return nil }  // Int64.max has 19 digits
        var whole: Int64 = 0
        for index in 0..<max(integerDigits, 0) {
            let digit = Int64(index < digits.count ? digits[index] : 0)
            let (product, tooLarge) = whole.multipliedReportingOverflow(by: 10)
            let (sum, tooLargeNow) = product.addingReportingOverflow(digit)
            guard !tooLarge, !tooLargeNow else { return nil }
            whole = sum
        }
        guard isNegative else { return whole }
        let hasFraction = digits.dropFirst(max(integerDigits, 0)).contains { $0 != 0 }
        return -whole - (hasFraction ? 1 : 0)  // whole ≥ 0: neither step can pass Int64.min
    }
}
