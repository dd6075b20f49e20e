/// Whole numbers in decimal digits.
enum IntegerText {
    static func parse(_ text: String, in bounds: ClosedRange<Int>) throws(ValueDefect) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            bounds.contains(number)
        else { throw ValueDefect("write a whole number from \(bounds.lowerBound) to \(bounds.upperBound)") }
        return number
    }
}
