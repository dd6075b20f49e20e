import StrictCoding

/// One thing: `name: value` lines for people, an object for programs.
struct Record: CommandResult {
    /// Names as JSON has them, such as `client_id`.
    private(set) var fields: [(name: String, value: Cell)] = []

    init(_ fields: [(String, Cell)] = []) { self.fields = fields.map { (name: $0.0, value: $0.1) } }

    mutating func append(_ name: String, _ value: Cell) { fields.append((name, value)) }

    var lines: [String] {
        let width = fields.map(\.name.utf8.count).max() ?? 0
        return fields.map { field in
            let padding = String(repeating: " ", count: width - field.name.utf8.count)
            return "\(field.name.replacing("_", with: " ")):\(padding) \(field.value.shown)"
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            for field in fields { field.value.write(as: field.name, to: &json) }
        }
    }
}
