import Foundation
import NativeSSO
import Testing

@testable import native_sso

/// Every key that the reader of the configuration asks for, in its order.
private let keys = asked(by: { _ = Configuration(reading: $0) }, of: SampleFile.minimal)

private let signerKeys = asked(
    by: { _ = SignerConfiguration(reading: $0) }, of: "issuer: https://sso.example.com\n")

private func asked(by read: (Section) -> Void, of yaml: String) -> [KeyDescription] {
    let problems = Problems()
    let root = Section(path: "", place: .file, variables: Variables([:]), problems: problems)
    guard let document = try? ConfigurationDocument(yaml: yaml) else { return [] }
    root.fill(from: document)
    read(root)
    return problems.keys
}

extension GuidePageTests {
    @Test func configure() throws { try GuidePage(name: "configure.md").expect(Self.reference(keys)) }

    @Test func signer() throws { try GuidePage(name: "signer.md").expect(Self.reference(signerKeys)) }

    private static func reference(_ keys: [KeyDescription]) -> String {
        var text = ""
        for (title, section, help) in sections(keys) {
            text += "## \(title)\n\n"
            if !help.isEmpty { text += help + "\n\n" }
            let rows = keys.filter { $0.section == section && !$0.isSection }
            text += Markdown.table(
                ["key", "value", "default", "meaning"],
                rows.map { [Markdown.code($0.name), $0.form.words, $0.absent, $0.help] })
            let bounded = rows.filter(\.hasVariable).map { Markdown.code(Variables.name(of: $0.path)) }
            if !bounded.isEmpty { text += "\nEnvironment: \(bounded.joined(separator: ", ")).\n" }
            text += "\n"
        }
        return text
    }

    /// The root first, then in the order of the file.
    private static func sections(_ keys: [KeyDescription]) -> [(title: String, path: String, help: String)] {
        [("Top level", "", "")]
            + keys.filter(\.isSection).map {
                (Markdown.code($0.inside.replacing("[0]", with: "[]")), $0.inside, $0.help)
            }
    }

    @Test func everyKeyOfTheSampleIsDescribedOnce() {
        #expect(keys.count > 60)
        #expect(Set(keys.map(\.path)).count == keys.count)
        #expect(signerKeys.contains { $0.path == "signer.longest_token" })
        #expect(!signerKeys.contains { ["keys.signer", "keys.replica", "keys.quota"].contains($0.path) })
        for key in keys + signerKeys { #expect(key.help.hasSuffix(".") || key.help.hasSuffix(":"), "\(key.path)") }
    }

    @Test func schema() throws {
        let schema: [String: Any] = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "native-sso configuration",
        ].merging(Self.object(of: "", keys)) { $1 }
        let data = try JSONSerialization.data(
            withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        try GuidePage.expect(
            String(decoding: data, as: UTF8.self) + "\n",
            in: GuidePage.folder.appending(path: "configuration.schema.json"))
    }

    @Test func registrySchema() throws {
        let file = try RegistryFile.read(
            yaml: """
                name: sample
                clients: [{client_id: app1}]
                groups: [{group_id: vendor, issuer: "https://idp.example.com", members: [{client_id: app1, role: both}]}]
                scopes: [{scope: payments}]
                """, path: "sample.yaml")
        try file.check()
        let schema: [String: Any] = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "native-sso registry file",
        ].merging(Self.object(of: "", file.problems.keys, haveVariables: false)) { $1 }
        let data = try JSONSerialization.data(
            withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        try GuidePage.expect(
            String(decoding: data, as: UTF8.self) + "\n", in: GuidePage.folder.appending(path: "registry.schema.json"))
    }

    /// A key that a variable can set is not required in the file.
    private static func object(
        of section: String, _ keys: [KeyDescription], haveVariables: Bool = true
    ) -> [String: Any] {
        let members = keys.filter { $0.section == section }
        var properties: [String: Any] = [:]
        for key in members {
            properties[key.name] = key.schema { Self.object(of: $0, keys, haveVariables: haveVariables) }
        }
        var schema: [String: Any] = ["type": "object", "additionalProperties": false, "properties": properties]
        let required = members.filter { $0.isRequired && !(haveVariables && $0.hasVariable) }.map(\.name)
        if !required.isEmpty { schema["required"] = required }
        return schema
    }
}

extension KeyDescription {
    fileprivate var name: String {
        String(path[(path.lastIndex(of: ".").map { path.index(after: $0) } ?? path.startIndex)...])
    }
    fileprivate var section: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

    /// The section that holds its keys; for a list, the first element.
    fileprivate var inside: String { path + (form == .list(.section) ? "[0]" : "") }
    fileprivate var isSection: Bool { form == .section || form == .list(.section) }
    fileprivate var hasVariable: Bool {
        if case .list = form { return false }
        return !isSection && !path.contains("[")
    }

    fileprivate var absent: String {
        if let standard { return Markdown.code(standard) }
        if isRequired { return "required" + (example.map { ", such as `\($0)`" } ?? "") }
        return "–"
    }

    fileprivate func schema(_ object: (String) -> [String: Any]) -> [String: Any] {
        var schema = form.schema { object(inside) }
        schema["description"] = help
        // The JSON schema omits a default that depends on other keys.
        if let standard, !path.contains("token_endpoint") { schema["default"] = form.typed(standard) }
        return schema
    }
}

extension KeyDescription.Form {
    fileprivate var words: String {
        switch self {
        case .section: "section"
        case .flag: "`true` or `false`"
        case .url: "URL"
        case .path: "absolute path"
        case .rate: "rate"
        case .duration(let bounds):
            "\(DurationText.format(bounds.lowerBound)) to \(DurationText.format(bounds.upperBound))"
        case .integer(let bounds): "\(bounds.lowerBound) to \(bounds.upperBound)"
        case .choice(let names): names.map(Markdown.code).joined(separator: ", ")
        case .text(let words): words
        case .list(let form): "list of: \(form.words)"
        case .orNone(let form): "\(form.words), or `none`"
        }
    }

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
        case .path: ["type": "string", "pattern": "^/"]
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
