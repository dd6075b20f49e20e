import StrictCoding

/// A JSON file that is read strictly: an unknown member is an error.
struct ConfigurationFile {
    let root: JSONObject
    private let path: String

    init(_ path: String, _ bytes: [UInt8]) throws(ProviderError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.parse(bytes)
        } catch {
            throw .malformedFile(path, reason: "\(error)")
        }
        guard let root = value.object else { throw .malformedFile(path, reason: "expected an object") }
        self.path = path
        self.root = root
    }

    func expectMembers(of object: JSONObject, _ known: Set<String>) throws(ProviderError) {
        for name in object.names where !known.contains(name) { throw malformed("unknown member \"\(name)\"") }
    }

    func objects(_ name: String, of object: JSONObject) throws(ProviderError) -> [JSONObject] {
        guard let elements = object.array(name) else { throw malformed("expected the array \"\(name)\"") }
        return try elements.map { element throws(ProviderError) in
            guard let entry = element.object else { throw malformed("\"\(name)\" holds something else than objects") }
            return entry
        }
    }

    /// The objects of an array; an absent member is an empty one.
    func optionalObjects(_ name: String, of object: JSONObject) throws(ProviderError) -> [JSONObject] {
        object.contains(name) ? try objects(name, of: object) : []
    }

    /// true or false; false if the member is absent.
    func bool(_ name: String, of object: JSONObject) throws(ProviderError) -> Bool {
        guard object.contains(name) else { return false }
        guard let value = object.bool(name) else { throw malformed("\"\(name)\" is neither true nor false") }
        return value
    }

    /// A string that must be there and hold something.
    func string(_ name: String, of object: JSONObject) throws(ProviderError) -> String {
        guard let text = object.string(name), !text.isEmpty else { throw malformed("expected the text \"\(name)\"") }
        return text
    }

    func optionalString(_ name: String, of object: JSONObject) throws(ProviderError) -> String? {
        object.contains(name) ? try string(name, of: object) : nil
    }

    /// The texts of an array; an absent member is an empty one.
    func strings(_ name: String, of object: JSONObject) throws(ProviderError) -> [String] {
        guard object.contains(name) else { return [] }
        guard let texts = object.strings(name) else { throw malformed("\"\(name)\" is no array of texts") }
        return texts
    }

    /// A positive number of seconds, if the member is there.
    func seconds(_ name: String, of object: JSONObject) throws(ProviderError) -> Int64? {
        guard object.contains(name) else { return nil }
        guard let seconds = object.number(name)?.int64, (1...315_360_000).contains(seconds) else {
            throw malformed("\"\(name)\" is no number of seconds between 1 and ten years")
        }
        return seconds
    }

    func malformed(_ reason: String) -> ProviderError { .malformedFile(path, reason: reason) }
}
