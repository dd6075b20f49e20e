import StrictCoding

/// One name or value of a form. HTTP Basic credentials are written the same way (RFC 6749 §2.3.1).
enum FormText {
    /// Whether the text is what it means: printable ASCII without `%` and `+`. Looks at every octet, without a way out (`||`
    /// would be one), so that many are looked at at once.
    static func isPlain(_ text: Span<UInt8>) -> Bool {
        var others: UInt8 = 0
        for index in text.indices {
            let octet = text[index]
            others |=
                (octet < 0x20 ? 1 : 0) | (octet > 0x7E ? 1 : 0) | (octet == UInt8(ascii: "%") ? 1 : 0)
                | (octet == UInt8(ascii: "+") ? 1 : 0)
        }
        return others == 0
    }

    /// `+` is a space, `%` takes two hexadecimal digits.
    static func decode(_ text: Span<UInt8>) throws(FormError) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "+"): octets.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = digit(text[index + 1]), let low = digit(text[index + 2])
                else { throw .malformedPercentEncoding }
                octets.append(high << 4 | low)
                index += 2
            case let octet: octets.append(octet)
            }
            index += 1
        }
        return octets
    }

    /// Everything that is not unreserved (RFC 3986 §2.3) is escaped; a space is `+`.
    static func encode(_ text: String, to form: inout [UInt8]) {
        for octet in text.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                form.append(octet)
            case UInt8(ascii: " "): form.append(UInt8(ascii: "+"))
            default:
                form.append(UInt8(ascii: "%"))
                form.append(contentsOf: Hexadecimal.encode(CollectionOfOne(octet)).uppercased().utf8)
            }
        }
    }

    /// Whether valid UTF-8 holds a C0 control other than tab, DEL, or a C1 control (U+0080 to U+009F).
    static func holdsControlCharacter(_ octets: [UInt8]) -> Bool {
        var previous: UInt8 = 0
        for octet in octets {
            if octet < 0x20, octet != 0x09 { return true }
            if octet == 0x7F { return true }
            if previous == 0xC2, octet < 0xA0 { return true }
            previous = octet
        }
        return false
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// What a form may hold. A form beyond its rules is refused whole: nothing is cut or dropped, so that an oversized
/// credential can never turn into an absent one.
public struct FormRules: Sendable {
    /// The most parameters, those without a value included.
    public let maximumParameters: Int
    /// Octets of a decoded name.
    public let maximumNameLength: Int
    /// Octets of a decoded value for names without a rule of their own.
    public let maximumValueLength: Int
    private let valueLengths: [(name: String, length: Int)]
    private let repeatable: [String]
    private let judgedByOctets: [String]

    /// - Parameters:
    ///   - valueLengths: Octets of a decoded value, by name.
    ///   - repeatable: Names that may appear more than once.
    ///   - judgedByOctets: Names whose value is compared octet by octet and never shown: a control character in it makes
    ///     it another value (an unknown grant, a token that is not ours), not a malformed form.
    public init(
        maximumParameters: Int = 32, maximumNameLength: Int = 128, maximumValueLength: Int = 1024,
        valueLengths: KeyValuePairs<String, Int> = [:], repeatable: [String] = [],
        judgedByOctets: [String] = []
    ) {
        self.maximumParameters = maximumParameters
        self.maximumNameLength = maximumNameLength
        self.maximumValueLength = maximumValueLength
        self.valueLengths = valueLengths.map { (name: $0.key, length: $0.value) }
        self.repeatable = repeatable
        self.judgedByOctets = judgedByOctets
    }

    // A handful of names: a walk is faster than hashing, and nothing the caller sends is ever hashed.
    func maximumLength(ofValueNamed name: String) -> Int {
        valueLengths.first { $0.name == name }?.length ?? maximumValueLength
    }

    func allowsRepetition(of name: String) -> Bool { repeatable.contains(name) }

    func allowsControlCharacters(inValueNamed name: String) -> Bool { judgedByOctets.contains(name) }
}

extension FormRules {
    /// The token endpoint. `audience` and `resource` may repeat in the form (RFC 8693 §2.1); what that means is judged
    /// later, as a question of the target.
    public static let tokenEndpoint = FormRules(
        valueLengths: [
            Parameter.subjectToken: 16 * 1024,
            Parameter.actorToken: 4096,
            Parameter.clientAssertion: 8 * 1024,
            Parameter.scope: ScopeTokens.maximumLength,
            Parameter.code: 4096,
            Parameter.redirectURI: 2048,
            Parameter.codeVerifier: 128,  // RFC 7636 §4.1
            Parameter.refreshToken: 512,
            Parameter.clientID: 255,
        ],
        repeatable: [Parameter.audience, Parameter.resource],
        judgedByOctets: [Parameter.grantType, Parameter.refreshToken])

    /// Where an identity provider says that a login is over. Its token is as long as an id_token may be: a signature of
    /// RSA-4096 alone is 683 octets of it.
    public static let backChannelLogout = FormRules(valueLengths: [Parameter.logoutToken: 16 * 1024])
}
