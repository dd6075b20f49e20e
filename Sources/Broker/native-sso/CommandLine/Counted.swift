extension BinaryInteger {
    /// In groups of three digits: `1,204`.
    var grouped: String {
        var (digits, text) = (String(self)[...], "")
        while digits.count > 3 {
            text = ",\(digits.suffix(3))\(text)"
            digits = digits.dropLast(3)
        }
        return digits + text
    }

    /// A number with its noun, for people: `1 session`, `1,204 sessions`.
    /// - Parameter plural: If it is not the noun with an `s`.
    func counted(_ noun: String, plural: String? = nil) -> String {
        "\(grouped) \(self == 1 ? noun : plural ?? "\(noun)s")"
    }
}
