import StrictCoding

/// Many things of one kind: columns for people, an array of objects for programs.
struct Table: CommandResult {
    /// Of the one member of the JSON object, such as `sessions`.
    let name: String
    /// In JSON as they are, such as `client_id`; for people in capitals.
    let columns: [String]
    /// What people read where there is no row.
    let whenEmpty: String
    /// As many cells each as there are columns.
    private(set) var rows: [[Cell]] = []

    init(_ name: String, columns: [String], whenEmpty: String? = nil) {
        self.name = name
        self.columns = columns
        self.whenEmpty = whenEmpty ?? "no \(name.replacing("_", with: " "))"
    }

    mutating func append(_ row: [Cell]) { rows.append(row) }

    var lines: [String] {
        guard !rows.isEmpty else { return [whenEmpty] }
        let texts = [columns.map { $0.uppercased().replacing("_", with: " ") }] + rows.map { $0.map(\.shown) }
        let widths = columns.indices.map { column in
            texts.map { column < $0.count ? $0[column].unicodeScalars.count : 0 }.max() ?? 0
        }
        return texts.map { row in
            let padded = zip(row, widths).map { text, width in
                text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
            }
            return padded.joined(separator: "  ").trimmingSuffix()
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member(
                name,
                array: { json in
                    for row in rows {
                        json.object { json in
                            for (column, cell) in zip(columns, row) { cell.write(as: column, to: &json) }
                        }
                    }
                })
        }
    }
}

extension String {
    fileprivate func trimmingSuffix() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
