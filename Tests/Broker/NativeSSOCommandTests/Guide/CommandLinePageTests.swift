import ArgumentParser
import Foundation
import Testing

@testable import native_sso

/// The parts of swift-argument-parser's description of the command line that the page shows.
private struct HelpDump: Decodable {
    struct Command: Decodable {
        let commandName: String
        let abstract: String?
        let discussion: String?
        let subcommands: [Command]?
        let arguments: [Argument]?
    }

    struct Argument: Decodable {
        struct Name: Decodable { let name: String }

        let kind: String
        let shouldDisplay: Bool
        let isOptional: Bool
        let isRepeating: Bool
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let allValues: [String]?
        let abstract: String?
    }

    let command: Command

    static func read(_ root: any ParsableCommand.Type = NativeSSOCommand.self) throws -> HelpDump {
        try JSONDecoder().decode(HelpDump.self, from: Data(root._dumpHelp().utf8))
    }
}

extension GuidePageTests {
    @Test func commandLine() throws {
        let root = try HelpDump.read().command
        let common = Set((root.arguments ?? []).compactMap(\.preferredName?.name))
        var text = "## Exit status\n\n"
        text += Markdown.table(["status", "meaning"], ExitStatus.allCases.map { [String($0.rawValue), $0.help] })
        text += "\n## Options of every command\n\n" + Self.arguments(root.arguments ?? [])
        for command in root.subcommands ?? [] where command.commandName != "help" {
            text += "\n## " + command.commandName + "\n\n" + Self.section(command, "native-sso", "###", common)
        }
        let support = try HelpDump.read(SupportProfile.self).command
        text += "\n## Profile support\n\n\(support.abstract ?? "")\n\n\(support.discussion ?? "")\n"
        for command in support.subcommands ?? [] where command.commandName != "help" {
            text += "\n" + Self.section(command, support.commandName, "###", common)
        }
        try GuidePage(name: "command-line.md").expect(text)
    }

    /// A command, or the commands of a group, each below a heading that begins with `marks`.
    private static func section(
        _ command: HelpDump.Command, _ path: String, _ marks: String, _ common: Set<String>
    ) -> String {
        let path = "\(path) \(command.commandName)"
        let own = (command.arguments ?? []).filter {
            !common.contains($0.preferredName?.name ?? "") && $0.shouldDisplay
        }
        let subcommands = command.subcommands ?? []
        var text = ""
        if subcommands.isEmpty {
            text +=
                "\(marks) `" + ([path] + own.filter { $0.kind == "positional" }.map(Self.shown)).joined(separator: " ")
            text += "`\n\n"
        }
        text += (command.abstract ?? "") + "\n"
        if let discussion = command.discussion { text += "\n" + discussion + "\n" }
        if subcommands.isEmpty, !own.isEmpty { text += "\n" + arguments(own) }
        if let example = CommandExamples.all[path.split(separator: " ").dropFirst().joined(separator: " ")] {
            text += "\n```sh\n" + example.map { $0 + "\n" }.joined() + "```\n"
        }
        for subcommand in subcommands {
            let isGroup = subcommand.subcommands?.isEmpty == false
            text += isGroup ? "\n\(marks) \(command.commandName) \(subcommand.commandName)\n\n" : "\n"
            text += section(subcommand, path, isGroup ? marks + "#" : marks, common)
        }
        return text
    }

    /// `--x` and `--no-x` share a row.
    private static func arguments(_ arguments: [HelpDump.Argument]) -> String {
        func inverse(of argument: HelpDump.Argument) -> HelpDump.Argument? {
            arguments.first {
                $0.preferredName != nil && $0.preferredName?.name == "no-\(argument.preferredName?.name ?? "")"
            }
        }
        let inverses = arguments.compactMap { inverse(of: $0)?.preferredName?.name }
        return Markdown.table(
            ["argument", "meaning"],
            arguments.filter { !inverses.contains($0.preferredName?.name ?? "") }.map { argument in
                var (name, meaning) = (Markdown.code(shown(argument)), meaning(of: argument))
                if let inverse = inverse(of: argument) {
                    name += ", " + Markdown.code(shown(inverse))
                    if inverse.abstract != argument.abstract {
                        meaning += " \(Markdown.code(shown(inverse))): \(self.meaning(of: inverse))"
                    }
                }
                return [name, meaning]
            })
    }

    private static func meaning(of argument: HelpDump.Argument) -> String {
        var meaning = argument.abstract ?? "Show help."
        if argument.kind != "flag", let values = argument.allValues {
            // The many kinds of audit event have a table of their own.
            let shown =
                values.count > 12 ? "see [observe](observe.md)" : values.map(Markdown.code).joined(separator: ", ")
            meaning += " Values: \(shown)."
        }
        if let value = argument.defaultValue { meaning += " Default: `\(value)`." }
        if !argument.isOptional { meaning += " Required." }
        return meaning
    }

    private static func shown(_ argument: HelpDump.Argument) -> String {
        let value = "<\(argument.valueName ?? "")>" + (argument.isRepeating ? "…" : "")
        return switch argument.kind {
        case "positional": argument.isOptional ? "[\(value)]" : value
        case "option": "--\(argument.preferredName?.name ?? "") \(value)"
        default: "--\(argument.preferredName?.name ?? "")"
        }
    }
}
