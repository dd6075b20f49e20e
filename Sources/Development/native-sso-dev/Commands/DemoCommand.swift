import ArgumentParser
import Foundation

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Start everything and run every scenario of single sign-on for native apps.",
        discussion: """
            The first line is the address of a page with two phones to play with. Each line after it names document and step, \
            and shows what was sent and what came back, secrets cut short. A table of all scenarios and profiles comes last. \
            Ends with status 1 if one of them failed. Without --once everything runs on, to be looked at, until interrupted.
            """)

    /// Seconds that the identity providers' refresh tokens last: long enough for the scenarios that use them, and short enough
    /// to see them expire.
    static let refreshTokenLifetime = 60

    @OptionGroup var options: EnvironmentOptions

    @Flag(help: "End after the table.")
    var once = false

    func run() async throws {
        var options = options
        // Short, so that the scenarios can wait for a token to expire; the broker's least.
        let accessTokenLifetime = options.accessTokenLifetime ?? 10
        options.accessTokenLifetime = accessTokenLifetime
        let once = once
        let lifetimes = [
            (name: "access_token", seconds: accessTokenLifetime),
            (name: "refresh_token", seconds: Self.refreshTokenLifetime),
        ]
        try await EnvironmentLifetime(options, lifetimes: lifetimes).run { description in
            StandardOutput.write("\(description.page)  (two phones to look at; ^C ends everything)")
            let table = try await ScenarioWalks(description: description, write: StandardOutput.write).run()
            StandardOutput.write("")
            for line in table.lines { StandardOutput.write(line) }
            guard table.failures == 0 else { throw FailedScenarios(count: table.failures) }
            StandardOutput.write("Every scenario was as expected.")
            guard !once else { return }
            StandardOutput.write(description.json)
            try await EnvironmentLifetime.untilInterrupted()
        }
    }

    private struct FailedScenarios: Error, CustomStringConvertible {
        let count: Int
        var description: String { "\(count) \(count == 1 ? "scenario" : "scenarios") failed: see FAILED above" }
    }
}
