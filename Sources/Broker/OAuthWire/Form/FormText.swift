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
