/// A JSON number in its exact text, RFC 8259 §6. Conversions are checked and never trap.
public struct JSONNumber: Sendable, Equatable {
    /// The text in the document; valid by the grammar of RFC 8259 §6, therefore ASCII.
    public let text: String

    /// For the reader, which has checked the grammar.
    init(checked text: String) {
        self.text = text
    }

    public init(_ value: Int64) {
        text = String(value)
    }

    /// The value, if the number is written as an integer (no point, no exponent) and fits.
    public var int64: Int64? { Int64(text) }

    /// The value as a NumericDate (RFC 7519 §2) in whole seconds, fractions floored.
    ///
    /// nil where the result does not fit, for instance `1e308`: a token that expires "never" by overflow is refused.
    public var wholeSeconds: Int64? {
        if let int64 { return int64 }
        guard let decimal = Decimal(text) else { return nil }
        return decimal.floor
    }
}

/// A number taken apart: `digits` × 10^(`integerDigits` − number of digits).
private struct Decimal {
    private var isNegative = false
    /// Significant digits, leading zeros removed.
    private var digits: [UInt8] = []
    /// How many of `digits` stand before the decimal point; negative or beyond the end after an exponent.
    private var integerDigits = 0

    /// nil where the exponent itself does not fit.
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

    /// The greatest integer that is not above the number; nil if it does not fit in 64 bits.
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
