import ArgumentParser

struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Start everything, say where it is, and run until interrupted.",
        discussion: """
            When all of it answers, one line of JSON on standard output says where. Progress goes to standard error.
            """)

    @OptionGroup var options: EnvironmentOptions

    func run() async throws {
        try await EnvironmentLifetime(options).run { description in
            StandardOutput.write(description.json)
            try await EnvironmentLifetime.untilInterrupted()
        }
    }
}
