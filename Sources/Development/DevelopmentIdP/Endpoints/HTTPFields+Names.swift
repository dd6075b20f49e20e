import HTTPTypes

extension HTTPFields {
    /// Sets a field that swift-http-types has no constant for.
    mutating func set(_ name: StaticString, _ value: String) {
        guard let name = HTTPField.Name("\(name)") else { return }
        self[name] = value
    }
}
