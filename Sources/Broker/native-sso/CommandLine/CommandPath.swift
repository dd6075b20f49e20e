import ArgumentParser

/// The command that a command line names, as far as it exists.
struct CommandPath {
    /// The program, or the profile, which has commands of its own.
    private let root: any ParsableCommand.Type
    /// The innermost command.
    private(set) var command: any ParsableCommand.Type
    /// Such as `client add`; empty for the program itself.
    private(set) var names: [String] = []
    /// The word where a subcommand is expected and none has this name.
    private(set) var unknown: String?
    private(set) var asksForHelp = false

    init(_ arguments: [String]) {
        var rest = arguments[...]
        if let ofProfile = try? SupportProfile.arguments(arguments) {
            root = SupportProfile.self
            rest = ofProfile[...]
        } else {
            root = NativeSSOCommand.self
        }
        command = root
        while let word = rest.popFirst(), word != "--" {
            // The only options before a subcommand that take a value.
            if word == "--config" || word == "--profile" { rest = rest.dropFirst() }
            guard !word.hasPrefix("-") else { continue }
            if names.isEmpty, word == "help", !asksForHelp {
                asksForHelp = true
                continue
            }
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
                // The words after the last name are the arguments of the command, and help takes none.
                if asksForHelp || !command.configuration.subcommands.isEmpty { unknown = word }
                return
            }
            command = next
            names.append(word)
        }
    }

    /// As one types it, with the name of the program.
    var text: String { ([root._commandName] + names).joined(separator: " ") }

    var hint: String { "See '\(text) --help'." }

    /// The end of a sentence about ``unknown``; empty if no subcommand has a similar name.
    var didYouMean: String {
        let names = command.configuration.subcommands.map { $0._commandName }
        return unknown.flatMap { NearestName.of($0, among: names) }.map { "; did you mean \($0)?" } ?? ""
    }

    /// The end of the help. The profile has no examples.
    var example: [String] {
        guard root == NativeSSOCommand.self, let example = CommandExamples.all[names.joined(separator: " ")] else {
            return []
        }
        return ["EXAMPLE:"] + example.map { "  \($0)" }
    }
}
