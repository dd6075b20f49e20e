import ArgumentParser
import Foundation

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Start everything and walk through both profiles of Native SSO, step by step.",
        discussion: """
            Each line shows what was sent and what came back, secrets cut short. Ends with status 1 at the first step that \
            is not as expected. Afterwards everything runs on, to be looked at, until interrupted; not with --once.
            """)

    @OptionGroup var options: EnvironmentOptions

    @Flag(help: "End after the walk-through.")
    var once = false

    func run() async throws {
        var options = options
        // Short, so that the walk-through can wait for a token to expire; the broker's least.
        options.accessTokenLifetime = options.accessTokenLifetime ?? 10
        let once = once
        try await EnvironmentLifetime(options).run { environment, description in
            for profile in description.profiles.flatMap(DemonstratedProfile.all) {
                try await WalkThrough(description: description, profile: profile).run()
            }
            StandardOutput.write("Every step was as expected.")
            guard !once else { return }
            StandardOutput.write(description.json)
            try await EnvironmentLifetime.untilInterrupted()
        }
    }
}
