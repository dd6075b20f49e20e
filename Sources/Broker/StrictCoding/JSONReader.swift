/// A strict reader of JSON texts, RFC 8259: the whole input is one value, in UTF-8, within limits, without repeated names.
public enum JSONReader {
    /// Reads `bytes` as one JSON text; whitespace may surround it, nothing else.
    @inlinable public static func parse(
        _ bytes: some Collection<UInt8>, limits: JSONLimits = .default
    ) throws(JSONError) -> JSONValue {
        try withSpan(of: bytes) { span -> Result<JSONValue, JSONError> in
            var parser = JSONParser(limits: limits)
            do throws(JSONError) {
                return .success(try parser.document(span))
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
