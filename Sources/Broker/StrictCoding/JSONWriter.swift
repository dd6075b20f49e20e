/// Writes JSON texts, RFC 8259, compactly and in the order of the calls.
///
///     var json = JSONWriter()
///     json.object { json in
///         json.member("sub", subject)
///         json.member("exp", expiry)
///     }
///
/// The writer inserts commas. The caller must write names only in objects, and each name once.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(reservingCapacity capacity: Int = 512) { bytes.reserveCapacity(capacity) }

    // MARK: Members of an object

    public mutating func member(_ name: String, _ value: String) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ values: [String]) {
        self.name(name)
        array { json in for value in values { json.value(value) } }
    }

    public mutating func member(_ name: String, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    /// A member whose value is already JSON. The caller must ensure that it is valid.
    public mutating func member(_ name: String, raw json: some Collection<UInt8>) {
        self.name(name)
        value(raw: json)
    }

    public mutating func member<Failure>(
        _ name: String, object body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try object(body)
    }

    public mutating func member<Failure>(
        _ name: String, array body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try array(body)
    }

    // MARK: Values

    public mutating func object<Failure>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        try bracket(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    public mutating func array<Failure>(_ body: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        try bracket(UInt8(ascii: "["), UInt8(ascii: "]"), body)
    }

    public mutating func value(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    public mutating func value(_ value: Int64) {
        value == 0 ? self.value(raw: CollectionOfOne(UInt8(ascii: "0"))) : self.value(raw: String(value).utf8)
    }

    public mutating func value(_ value: Bool) { self.value(raw: (value ? "true" : "false").utf8) }

    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: self.value(raw: "null".utf8)
        case .bool(let bool): self.value(bool)
        case .number(let number): self.value(raw: number.text.utf8)
        case .string(let string): self.value(string)
        case .array(let elements): array { json in for element in elements { json.value(element) } }
        case .object(let object):
            self.object { json in for member in object.members { json.member(member.name, member.value) } }
        }
    }

    /// A value that is already JSON. The caller must ensure that it is valid.
    public mutating func value(raw json: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    // MARK: Parts

    private mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func bracket<Failure>(
        _ open: UInt8, _ close: UInt8, _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        separate()
        bytes.append(open)
        needsComma = false
        try body(&self)
        bytes.append(close)
        needsComma = true
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if !bytes.append(plain: text, except: UInt8(ascii: "\""), UInt8(ascii: "\\")) {
            for byte in text.utf8 { escape(byte) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// RFC 8259 §7: only these characters need an escape; all others are written as UTF-8.
    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(Hexadecimal.digit(byte >> 4))
            bytes.append(Hexadecimal.digit(byte & 15))
        default: bytes.append(byte)
        }
    }
}
