import StrictCoding

/// One thing: `name: value` lines for people, an object for programs.
struct Record: CommandResult, ExpressibleByDictionaryLiteral {
    /// Names as JSON has them, such as `client_id`.
    let fields: [(name: String, value: Cell)]

    init(dictionaryLiteral fields: (String, Cell)...) { self.fields = fields.map { ($0, $1) } }

    var lines: [String] {
        let width = fields.map(\.name.utf8.count).max() ?? 0
        return fields.map { field in
            let padding = String(repeating: " ", count: width - field.name.utf8.count)
            return "\(field.name.replacing("_", with: " ")):\(padding) \(field.value.shown)"
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { members(to: &$0) }
    }

    /// Without the braces.
    func members(to json: inout JSONWriter) {
        for field in fields { field.value.write(as: field.name, to: &json) }
    }
}

/// Many things of one kind: columns for people, an array of objects for programs.
struct Table: CommandResult {
    /// Of the one member of the JSON object, such as `sessions`.
    let name: String
    /// Of one shape; their names are the columns, for people in capitals.
    let rows: [Record]
    /// What people read where there is no row.
    let whenEmpty: String

    init(_ name: String, _ rows: [Record], whenEmpty: String? = nil) {
        self.name = name
        self.rows = rows
        self.whenEmpty = whenEmpty ?? "no \(name.replacing("_", with: " "))"
    }

    var lines: [String] {
        guard let first = rows.first else { return [whenEmpty] }
        let titles = first.fields.map { $0.name.uppercased().replacing("_", with: " ") }
        let texts = [titles] + rows.map { $0.fields.map(\.value.shown) }
        let widths = titles.indices.map { column in texts.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        return texts.map { row in
            let padded = zip(row, widths).map { text, width in
                text + String(repeating: " ", count: width - text.unicodeScalars.count)
            }
            return padded.joined(separator: "  ").trimmingSuffix()
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { members(to: &$0) }
    }

    /// Without the braces.
    func members(to json: inout JSONWriter) {
        json.member(name, array: { json in for row in rows { row.write(to: &json) } })
    }
}

extension String {
    fileprivate func trimmingSuffix() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
