import NativeSSO
import StrictCoding
import YAML

/// The values that a key takes. The guide's reference and the JSON schema come from it.
struct KeyDescription: Sendable {
    indirect enum Form: Sendable, Hashable {
        case section, flag, url, path, rate
        case duration(ClosedRange<Seconds>)
        case integer(ClosedRange<Int>)
        case choice([String])
        /// Anything else, in words.
        case text(String)
        case list(Form)
        /// Or the word `none`.
        case orNone(Form)
    }

    let path: String
    let form: Form
    /// As the file writes it; `nil`: none, or `help` describes it.
    let standard: String?
    let example: String?
    let isRequired: Bool
    /// Sentences.
    let help: String
}

extension KeyDescription {
    /// Every key of the configuration, in the order of reading.
    static let all: [KeyDescription] = {
        func list(_ key: String, _ element: [ConfigurationDocument.Entry]) -> ConfigurationDocument.Entry {
            ConfigurationDocument.Entry(key: key, line: 1, value: .sequence([.mapping(element, line: 1)], line: 1))
        }
        // A list describes its keys by its elements.
        let relay = ConfigurationDocument.Entry(
            key: "code_relay", line: 1, value: .mapping([list("clients", [])], line: 1))
        let problems = Problems(opensFiles: false)
        let root = Section(path: "", place: .file, variables: Variables([:]), problems: problems)
        root.fill(from: .mapping([list("identity_providers", [relay])], line: 1))
        root.readDevelopment()
        _ = Configuration(reading: root)
        return problems.keys
    }()

    var name: String { String(path[(path.lastIndex(of: ".").map { path.index(after: $0) } ?? path.startIndex)...]) }
    /// The path of the section that holds the key.
    var section: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }
    var isSection: Bool { form == .section || form == .list(.section) }
    /// The section that holds its keys; for a list, the first element.
    var inside: String { path + (form == .list(.section) ? "[0]" : "") }
    /// Whether a variable can set it.
    var hasVariable: Bool {
        if case .list = form { return false }
        return !isSection && !path.contains("[")
    }

    // MARK: JSON schema

    /// - Parameter haveVariables: Whether variables can set keys too. Such a key is not required in the file.
    static func schema(_ title: String, of keys: [KeyDescription], haveVariables: Bool) -> String {
        var schema = object(of: "", keys, haveVariables)
        schema["$schema"] = .string("https://json-schema.org/draft/2020-12/schema")
        schema["title"] = .string(title)
        return JSONValue.object(schema).pretty()
    }

    private static func object(of section: String, _ keys: [KeyDescription], _ haveVariables: Bool) -> JSONObject {
        let members = keys.filter { $0.section == section }
        var properties = JSONObject()
        for key in members {
            properties[key.name] = .object(key.schema { object(of: $0, keys, haveVariables) })
        }
        var schema = JSONObject([
            "type": .string("object"), "additionalProperties": .bool(false), "properties": .object(properties),
        ])
        let required = members.filter { $0.isRequired && !(haveVariables && $0.hasVariable) }
        if !required.isEmpty { schema["required"] = .array(required.map { .string($0.name) }) }
        return schema
    }

    private func schema(_ object: (String) -> JSONObject) -> JSONObject {
        var schema = form.schema { object(inside) }
        schema["description"] = .string(help)
        // The default of a URL depends on other keys.
        if let standard, form != .url { schema["default"] = form.typed(standard) }
        return schema
    }
}

extension KeyDescription.Form {
    fileprivate func typed(_ text: String) -> JSONValue {
        switch self {
        case .flag: .bool(text == "true")
        case .integer: .number(JSONNumber(Int64(text) ?? 0))
        case .section, .url, .path, .rate, .duration, .choice, .text, .list, .orNone: .string(text)
        }
    }

    fileprivate func schema(_ object: () -> JSONObject) -> JSONObject {
        func text(_ pattern: String) -> JSONObject {
            JSONObject(["type": .string("string"), "pattern": .string(pattern)])
        }
        return switch self {
        case .section: object()
        case .flag: JSONObject(["type": .string("boolean")])
        case .url: JSONObject(["type": .string("string"), "format": .string("uri")])
        case .path: text("^(/|credential:)")
        case .rate: text("^(off|[0-9]+/[0-9]+[dhms])$")
        case .duration: text("^[0-9]+[dhms]$")
        case .integer(let bounds):
            JSONObject([
                "type": .string("integer"), "minimum": .number(JSONNumber(Int64(bounds.lowerBound))),
                "maximum": .number(JSONNumber(Int64(bounds.upperBound))),
            ])
        case .choice(let names):
            JSONObject(["type": .string("string"), "enum": .array(names.map { .string($0) })])
        case .text: JSONObject(["type": .string("string")])
        case .list(let form):
            JSONObject(["type": .string("array"), "items": .object(form.schema(object))])
        case .orNone(let form):
            JSONObject([
                "anyOf": .array([.object(form.schema(object)), .object(JSONObject(["const": .string("none")]))])
            ])
        }
    }
}

extension JSONObject {
    fileprivate init(_ members: KeyValuePairs<String, JSONValue>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}

extension JSONValue {
    /// One member or element a line, members by name: for people, and for a file under version control.
    fileprivate func pretty(_ indent: String = "") -> String {
        let inner = indent + "  "
        func block(_ open: String, _ close: String, _ parts: [String]) -> String {
            "\(open)\n\(parts.map { inner + $0 }.joined(separator: ",\n"))\n\(indent)\(close)"
        }
        func written(_ value: JSONValue) -> String { String(decoding: value.octets, as: UTF8.self) }
        return switch self {
        case .object(let object):
            block(
                "{", "}",
                object.members.sorted { $0.name < $1.name }.map {
                    "\(written(.string($0.name))) : \($0.value.pretty(inner))"
                })
        case .array(let elements): block("[", "]", elements.map { $0.pretty(inner) })
        case .null, .bool, .number, .string: written(self)
        }
    }
}
