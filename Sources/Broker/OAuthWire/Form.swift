public import StrictCoding

/// Decodes `application/x-www-form-urlencoded` strictly. RFC 6749 App. B.
///
/// `&` separates pairs, the first `=` separates name and value, and `+` is a space. Names and values are
/// percent-decoded. They must be UTF-8 without control characters, except a tab in `scope`.
/// Time is linear in the length of the form: the limit on parameters comes before the search for duplicates.
public enum FormDecoder {
    /// - Parameter form: The octets of a body or a query string.
    public static func decode(
        _ form: some Collection<UInt8>, rules: FormRules = .tokenEndpoint
    ) throws(FormError) -> FormParameters {
        let result = form.withContiguousStorageIfAvailable { decoded($0.span, rules) }
        return try (result ?? Array(form).withUnsafeBufferPointer { decoded($0.span, rules) }).get()
    }

    // `withContiguousStorageIfAvailable` does not carry typed errors; a `Result` does.
    private static func decoded(_ form: Span<UInt8>, _ rules: FormRules) -> Result<FormParameters, FormError> {
        do throws(FormError) {
            return .success(try parameters(form, rules))
        } catch {
            return .failure(error)
        }
    }

    private static func parameters(_ form: Span<UInt8>, _ rules: FormRules) throws(FormError) -> FormParameters {
        var parameters = FormParameters(capacity: 16)
        var start = 0
        while start < form.count {
            var end = start
            while end < form.count, form[end] != UInt8(ascii: "&") { end += 1 }
            let octets = form.extracting(start..<end)
            guard !FormText.holdsSemicolon(octets) else { throw .unescapedSemicolon }
            if start < end {
                guard parameters.count < rules.maximumParameters else { throw .tooManyParameters }
                try parameters.append(pair(octets, rules), rules)
            }
            start = end + 1
        }
        return parameters
    }

    private static func pair(_ pair: Span<UInt8>, _ rules: FormRules) throws(FormError) -> FormParameters.Pair {
        var separator = 0
        while separator < pair.count, pair[separator] != UInt8(ascii: "=") { separator += 1 }

        let name = try FormText.text(
            pair.extracting(..<separator), atMost: rules.maximumNameLength, else: .nameTooLong)
        guard let name, FormText.isName(name) else { throw .malformedName }
        guard separator < pair.count else { return (name, "") }
        let value = try FormText.text(
            pair.extracting((separator + 1)...), atMost: rules.maximumLength(ofValueNamed: name), else: .valueTooLong)
        guard let value else { throw .invalidUTF8 }
        // The grammar of a scope refuses a tab, with an error of its own.
        let allowed = name == Parameter.scope ? UInt8(ascii: "\t") : nil
        guard
            value.isPrintableASCII() || rules.judgedByOctets.contains(name)
                || !FormText.holdsControlCharacter(value, except: allowed)
        else { throw .controlCharacter }
        return (name, value)
    }
}

public enum FormError: Error, Sendable, CaseIterable {
    case tooManyParameters
    /// The name violates RFC 6749 §8.2: `param-name = 1*( "-" / "." / "_" / DIGIT / ALPHA )`.
    case malformedName
    case nameTooLong
    case valueTooLong
    case malformedPercentEncoding
    case invalidUTF8
    case controlCharacter
    /// An unescaped `;`. Every serializer escapes it. Some parsers treat it as a separator (HTML 4.01 §B.2.2), so a
    /// proxy might see other parameters than the broker.
    case unescapedSemicolon
    case duplicateParameter
}

/// The parameters of a form in order. They include credentials, so the type prints as `****`.
///
/// Names are case-sensitive ASCII (the decoder checks it), so `==` compares octets.
public struct FormParameters: Sendable, Redacted {
    typealias Pair = (name: String, value: String)

    private var pairs: [Pair] = []

    /// No parameters.
    public init() {}

    /// Empty, with room for as many parameters.
    init(capacity: Int) { pairs.reserveCapacity(capacity) }

    var count: Int { pairs.count }

    /// The value of a parameter that must not repeat; `nil` if it is absent or empty, which mean the same (RFC 6749
    /// §3.2).
    public subscript(_ name: String) -> String? {
        guard let index = index(of: name), !pairs[index].value.isEmpty else { return nil }
        return pairs[index].value
    }

    /// Every value of a repeatable parameter, including empty ones.
    public func values(of name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }

    /// Empty values count as duplicates too: `scope=&scope=x`. RFC 6749 §3.2.
    mutating func append(_ pair: Pair, _ rules: FormRules) throws(FormError) {
        guard index(of: pair.name) == nil || rules.repeatable.contains(pair.name) else { throw .duplicateParameter }
        pairs.append(pair)
    }

    /// Compares the lengths first: a request looks up some 30 names.
    private func index(of name: String) -> Int? {
        let length = name.utf8.count
        for index in pairs.indices where pairs[index].name.utf8.count == length && pairs[index].name == name {
            return index
        }
        return nil
    }
}

/// Encodes `application/x-www-form-urlencoded` for clients of a token endpoint. RFC 6749 App. B.
public enum FormEncoder {
    public static func encode(_ parameters: KeyValuePairs<String, String>) -> [UInt8] {
        encode(parameters.map { ($0.key, $0.value) })
    }

    public static func encode(_ parameters: [(name: String, value: String)]) -> [UInt8] {
        var form: [UInt8] = []
        for (name, value) in parameters {
            if !form.isEmpty { form.append(UInt8(ascii: "&")) }
            FormText.encode(name, to: &form)
            form.append(UInt8(ascii: "="))
            FormText.encode(value, to: &form)
        }
        return form
    }
}
