import Foundation
import NativeSSO
import Testing
import YAML

@testable import native_sso

private let keys = KeyDescription.all

private let signerKeys = {
    let problems = Problems(opensFiles: false)
    let root = Section(path: "", place: .file, variables: Variables([:]), problems: problems)
    _ = SignerConfiguration(reading: root)
    return problems.keys
}()

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

    @Test func schema() async throws {
        let command = try await BuiltCommand(["config", "schema"])
        #expect(command.status == 0)
        try GuidePage.expect(command.output, in: GuidePage.folder.appending(path: "configuration.schema.json"))
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
        let schema = KeyDescription.schema(
            "native-sso registry file", of: file.problems.keys, haveVariables: false)
        try GuidePage.expect(schema + "\n", in: GuidePage.folder.appending(path: "registry.schema.json"))
    }
}

extension KeyDescription {
    fileprivate var absent: String {
        if let standard { return Markdown.code(standard) }
        if isRequired { return "required" + (example.map { ", such as `\($0)`" } ?? "") }
        return "–"
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
}
