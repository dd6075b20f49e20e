import ArgumentParser
import KeyModule

/// `native-sso key publish`
struct KeyPublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish", abstract: "Show a pending key to everybody who verifies. It makes nothing yet.",
        discussion: "Its file must be on every broker before.")

    @OptionGroup var key: KeyArgument
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await KeyStepRun(.publish, key.kid, false, execution, options).run() }
}

/// `native-sso key activate`
struct KeyActivateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Make everything with a published key from now on; retire its predecessor.",
        discussion: "It has to be published for 24 h before, so that whoever verifies has seen it.")

    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await KeyStepRun(.activate, key.kid, force.force, execution, options).run() }
}

/// `native-sso key retire`
struct KeyRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Make nothing with a key any more. What it made stays good.",
        discussion: "The active key is retired by activating its successor; by itself, only with --force.")

    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await KeyStepRun(.retire, key.kid, force.force, execution, options).run() }
}

/// `native-sso key remove`
struct KeyRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take a key away for ever: nothing that it made is good any more.",
        discussion: "Allowed when nothing that it made can be in use; at once, for a key that was stolen, with --force."
    )

    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await KeyStepRun(.remove, key.kid, force.force, execution, options).run() }
}

/// Which key.
struct KeyArgument: ParsableArguments {
    @Argument(help: "The key, as key list names it; after -- where that begins with a hyphen.")
    var kid: String
}

/// For a key that may be compromised.
struct ForceOption: ParsableArguments {
    @Flag(help: "Do not wait until nobody is hurt.")
    var force = false
}
