import Foundation
import NativeSSO
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
    static func schema(_ title: String, of keys: [KeyDescription], haveVariables: Bool) throws -> String {
        let schema: [String: Any] = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title,
        ].merging(object(of: "", keys, haveVariables)) { $1 }
        let data = try JSONSerialization.data(
            withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    private static func object(of section: String, _ keys: [KeyDescription], _ haveVariables: Bool) -> [String: Any] {
        let members = keys.filter { $0.section == section }
        var properties: [String: Any] = [:]
        for key in members { properties[key.name] = key.schema { object(of: $0, keys, haveVariables) } }
        var schema: [String: Any] = ["type": "object", "additionalProperties": false, "properties": properties]
        let required = members.filter { $0.isRequired && !(haveVariables && $0.hasVariable) }.map(\.name)
        if !required.isEmpty { schema["required"] = required }
        return schema
    }

    private func schema(_ object: (String) -> [String: Any]) -> [String: Any] {
        var schema = form.schema { object(inside) }
        schema["description"] = help
        // The default of a URL depends on other keys.
        if let standard, form != .url { schema["default"] = form.typed(standard) }
        return schema
    }
}

extension KeyDescription.Form {
    fileprivate func typed(_ text: String) -> Any {
        switch self {
        case .flag: text == "true"
        case .integer: Int(text) ?? 0
        case .section, .url, .path, .rate, .duration, .choice, .text, .list, .orNone: text
        }
    }

    fileprivate func schema(_ object: () -> [String: Any]) -> [String: Any] {
        switch self {
        case .section: object()
        case .flag: ["type": "boolean"]
        case .url: ["type": "string", "format": "uri"]
        case .path: ["type": "string", "pattern": "^(/|credential:)"]
        case .rate: ["type": "string", "pattern": "^(off|[0-9]+/[0-9]+[dhms])$"]
        case .duration: ["type": "string", "pattern": "^[0-9]+[dhms]$"]
        case .integer(let bounds): ["type": "integer", "minimum": bounds.lowerBound, "maximum": bounds.upperBound]
        case .choice(let names): ["type": "string", "enum": names]
        case .text: ["type": "string"]
        case .list(let form): ["type": "array", "items": form.schema(object)]
        case .orNone(let form): ["anyOf": [form.schema(object), ["const": "none"]]]
        }
    }
}
