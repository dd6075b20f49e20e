/// Writes `application/x-www-form-urlencoded`, for those who call a token endpoint. RFC 6749 App. B.
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
