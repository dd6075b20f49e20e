import NativeSSO

/// The kinds of scalars. All of them give `nil` for what was reported as wrong.
extension Section {
    /// Also `nil` where the key is missing.
    func value<Value>(_ key: String, _ parse: (String) throws(ValueDefect) -> Value) -> Value? {
        scalar(key).flatMap { parsed($0.value.text, at: $0.place, parse) }
    }

    func value<Value>(
        _ key: String, defaultText: String, _ parse: (String) throws(ValueDefect) -> Value
    ) -> Value? {
        let value = value(key, parse)
        return isGiven(key) ? value : parsed(defaultText, at: place(of: key), parse)
    }

    func required<Value>(
        _ key: String, example: String, _ parse: (String) throws(ValueDefect) -> Value
    ) -> Value? {
        let value = value(key, parse)
        if !isGiven(key) { report(key, "is missing; write it, such as \(example)") }
        return value
    }

    func duration(_ key: String, default standard: Seconds, in bounds: ClosedRange<Seconds>) -> Seconds? {
        let span = value(key) { text throws(ValueDefect) in try DurationText.parse(text, in: bounds) }
        return isGiven(key) ? span : standard
    }

    func integer(_ key: String, default standard: Int, in bounds: ClosedRange<Int>) -> Int? {
        let number = value(key) { text throws(ValueDefect) in try IntegerText.parse(text, in: bounds) }
        return isGiven(key) ? number : standard
    }

    /// `true` or `false` and nothing else: `no` and `off` mean different things to different YAMLs.
    func flag(_ key: String, default standard: Bool) -> Bool? {
        guard let scalar = scalar(key) else { return isGiven(key) ? nil : standard }
        switch (scalar.value.isPlain, scalar.value.text) {
        case (true, "true"): return true
        case (true, "false"): return false
        default:
            report(key, "write true or false, without quotes")
            return nil
        }
    }

    /// - Parameter offered: What an error names, where that is not every case.
    func choice<Value: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ key: String, default standard: Value, offering offered: [Value]? = nil
    ) -> Value? {
        let choice = value(key) { text throws(ValueDefect) in
            try Choice<Value>.parse(text, offering: offered ?? Array(Value.allCases))
        }
        return isGiven(key) ? choice : standard
    }
}

/// Values that are one of a few names.
enum Choice<Value: RawRepresentable<String> & CaseIterable & SendableMetatype> {
    static func parse(_ text: String) throws(ValueDefect) -> Value {
        try parse(text, offering: Array(Value.allCases))
    }

    static func parse(_ text: String, offering offered: [Value]) throws(ValueDefect) -> Value {
        guard let value = Value(rawValue: text) else {
            throw ValueDefect("write one of \(offered.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}
