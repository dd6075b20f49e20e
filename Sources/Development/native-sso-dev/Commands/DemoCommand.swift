import ArgumentParser
import Foundation

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Start everything and run every scenario of single sign-on for native apps.",
        discussion: """
            Prints a table of all scenarios and profiles, and before it what a scenario that failed sent and received, secrets \
            cut short. Ends with status 1 if one failed. Without --once everything runs on until interrupted, and the last \
            line is the address of a page with two phones to play with.
            """)

    @OptionGroup var options: EnvironmentOptions

    @Flag(help: "End after the table.")
    var once = false

    @Flag(help: "Print each step of each scenario before the table.")
    var scenarios = false

    @Flag(
        help: "Write one line of JSON with every address and file to standard output, and the rest to standard error.")
    var json = false

    func run() async throws {
        var options = options
        // The page waits for a token to expire, at most so long. No scenario does.
        options.accessTokenLifetime = options.accessTokenLifetime ?? 30
        let (once, scenarios, json) = (once, scenarios, json)
        let write = json ? StandardError.write : StandardOutput.write
        try await EnvironmentLifetime(options, progress: { _ in }).run { description in
            let file = description.layout.directory + "/environment.json"
            try Data("\(description.json)\n".utf8).write(to: URL(filePath: file))
            let table = try await ScenarioWalks(description: description, tellsAll: scenarios, write: write).run()
            if table.failures > 0 || scenarios { write("") }
            for line in table.lines { write(line) }
            guard table.failures == 0 else { throw FailedScenarios(count: table.failures) }
            write("Every scenario was as expected.")
            if json { StandardOutput.write(description.json) }
            guard !once else { return }
            write("\nAddresses, files and processes: \(file)")
            write("The page with two phones, until ^C: \(description.page)")
            try await EnvironmentLifetime.untilInterrupted()
        }
    }

    private struct FailedScenarios: Error, CustomStringConvertible {
        let count: Int
        var description: String { "\(count) \(count == 1 ? "scenario" : "scenarios") failed: see FAILED above" }
    }
}
