import ArgumentParser
import NativeSSO
import Registry

struct SubjectPrefixCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "subject-prefix",
        abstract: "Show and give up the names that users of identity providers have had.",
        subcommands: [SubjectPrefixListCommand.self, SubjectPrefixForgetCommand.self])
}

struct SubjectPrefixListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the prefix of each identity provider that has had sessions.")

    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("prefixes", try await registry.subjectPrefixes()) {
            ["issuer": .text($0.issuer.string), "subject_prefix": .text($0.prefix)]
        }
    }
}

struct SubjectPrefixForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Let the next start of a broker give the users another prefix.",
        discussion: "Stop all brokers before, or a running one gives the old names until its own restart.")

    @Argument(help: "The issuer, as `subject-prefix list` shows it.") var issuer: Issuer
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let prefixes = try await options.administer { try await $0.subjectPrefixes() }
        guard let prefix = prefixes.first(where: { $0.issuer == issuer })?.prefix else {
            throw AdministrationError.notFound("a subject prefix of \(issuer)")
        }
        let plan = Plan(
            "forget how users of \(issuer) were named",
            consequences: [
                "with another subject_prefix than \(prefix.isEmpty ? "none" : prefix), no API finds its users again",
                "an identity provider may then give other users the names of these",
            ])
        try await execution.carryOut(plan, options) { try await $0.forgetSubjectPrefix(of: issuer, $1) }
    }
}
