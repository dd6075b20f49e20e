import StrictCoding

/// JSON values as tests write them.
enum JSONText {
    static func value(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }
}
