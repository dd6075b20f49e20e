import StrictCoding

/// Encodes and decodes one name or value of a form. HTTP Basic credentials use the same encoding (RFC 6749 §2.3.1).
enum FormText {
    /// The decoded text; `nil` if it is not UTF-8.
    /// - Parameters:
    ///   - maximum: Octets of the decoded text.
    ///   - tooLong: What is thrown for more.
    static func text(
        _ text: Span<UInt8>, atMost maximum: Int = .max, else tooLong: FormError = .valueTooLong
    ) throws(FormError) -> String? {
        // Names and tokens are plain, and most of a form is tokens.
        if text.isPrintableASCII(except: UInt8(ascii: "%"), UInt8(ascii: "+")) {
            guard text.count <= maximum else { throw tooLong }
            return text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        let octets = try decode(text)
        guard octets.count <= maximum else { throw tooLong }
        return octets.withUnsafeBufferPointer { String(validUTF8: $0.span) }
    }

    static func holdsSemicolon(_ text: Span<UInt8>) -> Bool {
        let semicolon = UInt8(ascii: ";")
        return !text.isPrintableASCII(except: semicolon) && text.indices.contains { text[$0] == semicolon }
    }

    /// `param-name = 1*( "-" / "." / "_" / DIGIT / ALPHA )`, RFC 6749 §8.2.
    static func isName(_ text: String) -> Bool {
        let isName = text.utf8.withContiguousStorageIfAvailable { octets in
            octets.allSatisfy { $0.isUnreserved && $0 != UInt8(ascii: "~") }
        }
        return isName == true && !text.isEmpty
    }

    /// `+` becomes a space; two hexadecimal digits must follow `%`.
    static func decode(_ text: Span<UInt8>) throws(FormError) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: text.count)
        var (index, count) = (0, 0)
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "+"): octets[count] = UInt8(ascii: " ")
            case UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = Hexadecimal.value(text[index + 1]),
                    let low = Hexadecimal.value(text[index + 2])
                else { throw .malformedPercentEncoding }
                octets[count] = high << 4 | low
                index += 2
            case let octet: octets[count] = octet
            }
            index += 1
            count += 1
        }
        octets.removeSubrange(count...)
        return octets
    }

    /// Escapes all octets that are not unreserved (RFC 3986 §2.3); a space becomes `+`.
    static func encode(_ text: String, to form: inout [UInt8]) {
        for octet in text.utf8 {
            switch octet {
            case _ where octet.isUnreserved: form.append(octet)
            case UInt8(ascii: " "): form.append(UInt8(ascii: "+"))
            default:
                form.append(UInt8(ascii: "%"))
                form.append(contentsOf: Hexadecimal.encode(CollectionOfOne(octet)).uppercased().utf8)
            }
        }
    }

    /// Whether the text contains a C0 control other than this one, DEL, or a C1 control (U+0080 to U+009F).
    static func holdsControlCharacter(_ text: String, except allowed: UInt8? = nil) -> Bool {
        var previous: UInt8 = 0
        for octet in text.utf8 {
            if octet < 0x20, octet != allowed { return true }
            if octet == 0x7F { return true }
            if previous == 0xC2, octet < 0xA0 { return true }
            previous = octet
        }
        return false
    }
}

/// Limits on a form. A form that exceeds one is refused as a whole: truncation could turn an oversized credential
/// into an absent one.
public struct FormRules: Sendable {
    /// Counts parameters without a value too.
    public let maximumParameters: Int
    /// In octets, decoded.
    public let maximumNameLength: Int
    /// In octets, decoded. Applies to names without a limit of their own.
    public let maximumValueLength: Int
    private let valueLengths: [(name: String, length: Int)]
    let repeatable: [String]
    let judgedByOctets: [String]

    /// - Parameters:
    ///   - valueLengths: Limits on decoded values in octets, by name.
    ///   - repeatable: Names that may appear more than once.
    ///   - judgedByOctets: Names whose values are only compared octet by octet and never shown. A control character
    ///     makes such a value unknown, but does not make the form malformed.
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

    // Few names: a linear search is faster than hashing, and no input of the caller is hashed.
    func maximumLength(ofValueNamed name: String) -> Int {
        for value in valueLengths where value.name == name { return value.length }
        return maximumValueLength
    }
}

extension FormRules {
    /// The token endpoint. `audience` and `resource` may repeat (RFC 8693 §2.1); a later check of the target
    /// evaluates them.
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

    /// The endpoints that take a `token` of any kind: revocation (RFC 7009) and introspection (RFC 7662). A token of
    /// another server may hold anything: it is unknown, and no error.
    public static let presentedToken = FormRules(
        valueLengths: [Parameter.token: 16 * 1024, Parameter.clientAssertion: 8 * 1024, Parameter.clientID: 255],
        judgedByOctets: [Parameter.token, Parameter.tokenTypeHint])

    /// The endpoint where an IdP reports a logout. A logout token may be as long as an id_token: an RSA-4096
    /// signature alone takes 683 octets.
    public static let backChannelLogout = FormRules(valueLengths: [Parameter.logoutToken: 16 * 1024])
}
