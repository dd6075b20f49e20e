import NativeSSO

/// The kinds of scalars.
extension Section {
    /// `nil` where the key is missing or does not hold.
    func value<Value>(_ key: String, _ parse: (String) throws -> Value) -> Value? {
        scalar(key).flatMap { parsed($0.value.text, at: $0.place, parse) }
    }

    func value<Value>(_ key: String, defaultText: String, _ parse: (String) throws -> Value) -> Value? {
        let value = value(key, parse)
        return isGiven(key) ? value : parsed(defaultText, at: place(of: key), parse)
    }

    func required<Value>(_ key: String, example: String, _ parse: (String) throws -> Value) -> Value? {
        let value = value(key, parse)
        if !isGiven(key) { report(key, "is missing; write it, such as \(example)") }
        return value
    }

    func duration(_ key: String, default standard: Seconds, in bounds: ClosedRange<Seconds>) -> Seconds {
        value(key) { try DurationText.parse($0, in: bounds) } ?? standard
    }

    func integer(_ key: String, default standard: Int, in bounds: ClosedRange<Int>) -> Int {
        value(key) { try IntegerText.parse($0, in: bounds) } ?? standard
    }

    /// `true` or `false` and nothing else: `no` and `off` mean different things to different YAMLs.
    func flag(_ key: String, default standard: Bool) -> Bool {
        guard let scalar = scalar(key) else { return standard }
        switch (scalar.value.isPlain, scalar.value.text) {
        case (true, "true"): return true
        case (true, "false"): return false
        default:
            report(key, "write true or false, without quotes")
            return standard
        }
    }

    /// - Parameter offered: What an error names, where that is not every case.
    func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ key: String, default standard: Value, offering offered: [Value] = Array(Value.allCases)
    ) -> Value {
        value(key) { try Value.parse($0, offering: offered) } ?? standard
    }
}

/// Values that are one of a few names.
extension RawRepresentable<String> where Self: CaseIterable {
    static func parse(_ text: String) throws(ValueDefect) -> Self { try parse(text, offering: Array(allCases)) }

    fileprivate static func parse(_ text: String, offering offered: [Self]) throws(ValueDefect) -> Self {
        guard let value = Self(rawValue: text) else {
            throw ValueDefect("write one of \(offered.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}
