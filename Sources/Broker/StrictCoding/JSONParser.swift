/// Parses one document in one pass. Each step borrows the input; the parser stores only positions and counts.
@usableFromInline struct JSONParser {
    private var index = 0
    private var depthLeft: Int
    private var membersLeft: Int
    private var elementsLeft: Int

    @usableFromInline init(limits: JSONLimits) {
        depthLeft = min(limits.depth, JSONLimits.deepest)
        membersLeft = limits.members
        elementsLeft = limits.elements
    }

    @usableFromInline mutating func document(_ input: Span<UInt8>) throws(JSONError) -> JSONValue {
        skipWhitespace(input)
        let value = try value(input)
        skipWhitespace(input)
        guard index == input.count else { throw .trailingBytes(offset: index) }
        return value
    }

    private mutating func value(_ input: Span<UInt8>) throws(JSONError) -> JSONValue {
        switch try peek(input) {
        case UInt8(ascii: "\""): return .string(try string(input))
        case UInt8(ascii: "{"): return .object(try object(input))
        case UInt8(ascii: "["): return .array(try array(input))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number(input))
        case UInt8(ascii: "t"):
            try word("true", input)
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false", input)
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null", input)
            return .null
        default: throw .unexpectedByte(offset: index)
        }
    }

    private mutating func object(_ input: Span<UInt8>) throws(JSONError) -> JSONObject {
        try enter()
        defer { depthLeft += 1 }
        index += 1
        skipWhitespace(input)
        if try peek(input) == UInt8(ascii: "}") {
            index += 1
            return JSONObject()
        }
        // Only now: a document may hold a thousand empty objects.
        var object = JSONObject(capacity: 16)
        while true {
            guard membersLeft > 0 else { throw .tooManyMembers }
            membersLeft -= 1
            let start = index
            guard try peek(input) == UInt8(ascii: "\"") else { throw .unexpectedByte(offset: index) }
            let name = try string(input)
            skipWhitespace(input)
            try expect(UInt8(ascii: ":"), input)
            skipWhitespace(input)
            let value = try value(input)
            guard object.append(name, value) else { throw .duplicateName(offset: start) }
            skipWhitespace(input)
            if try separator(closing: UInt8(ascii: "}"), input) { return object }
        }
    }

    private mutating func array(_ input: Span<UInt8>) throws(JSONError) -> [JSONValue] {
        try enter()
        defer { depthLeft += 1 }
        index += 1
        var array: [JSONValue] = []
        skipWhitespace(input)
        if try peek(input) == UInt8(ascii: "]") {
            index += 1
            return array
        }
        while true {
            guard elementsLeft > 0 else { throw .tooManyElements }
            elementsLeft -= 1
            array.append(try value(input))
            skipWhitespace(input)
            if try separator(closing: UInt8(ascii: "]"), input) { return array }
        }
    }

    private mutating func enter() throws(JSONError) {
        guard depthLeft > 0 else { throw .tooDeep }
        depthLeft -= 1
    }

    /// After a member or element: true at the closing bracket, false after a comma.
    private mutating func separator(closing: UInt8, _ input: Span<UInt8>) throws(JSONError) -> Bool {
        let byte = try peek(input)
        guard byte == closing || byte == UInt8(ascii: ",") else { throw .unexpectedByte(offset: index) }
        index += 1
        if byte == closing { return true }
        skipWhitespace(input)
        return false
    }

    private mutating func word(_ word: StaticString, _ input: Span<UInt8>) throws(JSONError) {
        for offset in 0..<word.utf8CodeUnitCount { try expect(word.utf8Start[offset], input) }
    }

    /// RFC 8259 §6: no leading zero, no `+`, digits on both sides of the point.
    private mutating func number(_ input: Span<UInt8>) throws(JSONError) -> JSONNumber {
        let start = index
        if input[index] == UInt8(ascii: "-") { index += 1 }
        if try peek(input) == UInt8(ascii: "0") { index += 1 } else { try digits(input) }
        if index < input.count, input[index] == UInt8(ascii: ".") {
            index += 1
            try digits(input)
        }
        if index < input.count, input[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            let sign = try peek(input)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { index += 1 }
            try digits(input)
        }
        return JSONNumber(checked: try text(input.extracting(start..<index), at: start))
    }

    private mutating func digits(_ input: Span<UInt8>) throws(JSONError) {
        guard Self.isDigit(try peek(input)) else { throw .unexpectedByte(offset: index) }
        while index < input.count, Self.isDigit(input[index]) { index += 1 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private mutating func string(_ input: Span<UInt8>) throws(JSONError) -> String {
        index += 1
        let start = index
        while true {
            switch try peek(input) {
            case UInt8(ascii: "\""):
                let string = try text(input.extracting(start..<index), at: start)
                index += 1
                return string
            case UInt8(ascii: "\\"): return try escapedString(from: start, input)
            case 0..<0x20: throw .unexpectedByte(offset: index)
            default: index += 1
            }
        }
    }

    /// The string from `start` on; `index` is at its first backslash.
    private mutating func escapedString(from start: Int, _ input: Span<UInt8>) throws(JSONError) -> String {
        var octets: [UInt8] = []
        for position in start..<index { octets.append(input[position]) }
        while true {
            let byte = try peek(input)
            switch byte {
            case UInt8(ascii: "\""):
                let string = try octets.withUnsafeBufferPointer { octets throws(JSONError) in
                    try text(octets.span, at: start)
                }
                index += 1
                return string
            case UInt8(ascii: "\\"): try escape(to: &octets, input)
            case 0..<0x20: throw .unexpectedByte(offset: index)
            default:
                octets.append(byte)
                index += 1
            }
        }
    }

    private mutating func escape(to octets: inout [UInt8], _ input: Span<UInt8>) throws(JSONError) {
        let start = index
        index += 1
        let character = try peek(input)
        index += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): octets.append(character)
        case UInt8(ascii: "b"): octets.append(0x08)
        case UInt8(ascii: "f"): octets.append(0x0C)
        case UInt8(ascii: "n"): octets.append(0x0A)
        case UInt8(ascii: "r"): octets.append(0x0D)
        case UInt8(ascii: "t"): octets.append(0x09)
        case UInt8(ascii: "u"):
            var code = try fourDigits(input)
            if code & 0xFC00 == 0xD800 {  // a high surrogate requires a low one
                try expect(UInt8(ascii: "\\"), input)
                try expect(UInt8(ascii: "u"), input)
                let low = try fourDigits(input)
                guard low & 0xFC00 == 0xDC00 else { throw .invalidUnicode(offset: start) }
                code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
            }
            guard let scalar = Unicode.Scalar(code) else { throw .invalidUnicode(offset: start) }
            octets.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
        default: throw .unexpectedByte(offset: index - 1)
        }
    }

    private mutating func fourDigits(_ input: Span<UInt8>) throws(JSONError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hexadecimal.value(try peek(input)) else { throw .unexpectedByte(offset: index) }
            code = code << 4 | UInt32(digit)
            index += 1
        }
        return code
    }

    private func text(_ octets: Span<UInt8>, at offset: Int) throws(JSONError) -> String {
        guard let text = String(validUTF8: octets) else { throw .invalidUnicode(offset: offset) }
        return text
    }

    private func peek(_ input: Span<UInt8>) throws(JSONError) -> UInt8 {
        guard index < input.count else { throw .unexpectedEnd }
        return input[index]
    }

    private mutating func expect(_ byte: UInt8, _ input: Span<UInt8>) throws(JSONError) {
        guard try peek(input) == byte else { throw .unexpectedByte(offset: index) }
        index += 1
    }

    private mutating func skipWhitespace(_ input: Span<UInt8>) {
        while index < input.count {
            switch input[index] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): index += 1
            default: return
            }
        }
    }
}

/// A strict reader of JSON texts (RFC 8259): one UTF-8 value, within limits, without duplicate names.
public enum JSONReader {
    /// Reads `bytes` as one JSON text. Only whitespace may surround it.
    @inlinable public static func parse(
        _ bytes: some Collection<UInt8>, limits: JSONLimits = .default
    ) throws(JSONError) -> JSONValue {
        try parse(bytes, limits: limits) { $0 }
    }

    /// The same, with the caller's own error.
    @inlinable package static func parse<Failure: Error>(
        _ bytes: some Collection<UInt8>, limits: JSONLimits, failingWith failure: (JSONError) -> Failure
    ) throws(Failure) -> JSONValue {
        try withSpan(of: bytes) { span -> Result<JSONValue, JSONError> in
            var parser = JSONParser(limits: limits)
            do throws(JSONError) {
                return .success(try parser.document(span))
            } catch {
                return .failure(error)
            }
        }.mapError(failure).get()
    }
}

/// Limits on a document; the reader stops at the first one exceeded.
public struct JSONLimits: Sendable {
    /// Maximum nesting of arrays and objects; 1 allows `{}`. Values above ``deepest`` have no effect.
    public var depth: Int
    /// Maximum members of all objects together.
    public var members: Int
    /// Maximum elements of all arrays together.
    public var elements: Int

    /// The reader recurses once per level; this bounds the stack.
    static let deepest = 64

    /// - Parameters:
    ///   - depth: 8: the broker's tokens and those of IdPs need at most four.
    ///   - members: 128: large id_tokens have about forty.
    ///   - elements: 1024: group lists are long (one large IdP sends up to 200), and an element is cheap.
    public init(depth: Int = 8, members: Int = 128, elements: Int = 1024) {
        self.depth = depth
        self.members = members
        self.elements = elements
    }

    /// For the header or the claims of a token.
    public static let `default` = JSONLimits()
}

/// Why a document was refused. Contains nothing of the document, so it can be logged.
public enum JSONError: Error, Sendable, Equatable {
    case unexpectedEnd
    case unexpectedByte(offset: Int)
    /// Data follows the value.
    case trailingBytes(offset: Int)
    /// Invalid UTF-8, or a `\u` escape with half of a surrogate pair.
    case invalidUnicode(offset: Int)
    /// Two members of one object have the same name. Readers disagree on which one counts (RFC 8725 §2.4).
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
