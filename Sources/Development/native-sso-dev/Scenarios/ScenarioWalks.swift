import Synchronization

/// Runs every scenario in every walk, the walks side by side.
struct ScenarioWalks: Sendable {
    let description: EnvironmentDescription
    /// Whether to print every step. If not, only those of a scenario that failed.
    let tellsAll: Bool
    let write: @Sendable (String) -> Void

    /// What happened, in the end.
    func run() async throws -> ScenarioTable {
        let profiles = description.profiles.flatMap(DemonstratedProfile.all)
        var table = ScenarioTable(profiles)
        let walks = try profiles.map { try Walk(description, $0) }
        let shared = Scenario.all.dropLast(Scenario.exclusive)
        try await withThrowingTaskGroup { group in
            for walk in walks { group.addTask { (walk, await walk.run(Array(shared))) } }
            for try await (walk, outcomes) in group { finish(walk, outcomes, &table) }
        }
        for scenario in Scenario.all.suffix(Scenario.exclusive) {
            for walk in walks { finish(walk, await walk.run([scenario]), &table) }
        }
        return table
    }

    private func finish(_ walk: Walk, _ outcomes: [Walk.Outcome], _ table: inout ScenarioTable) {
        if tellsAll { write("\nNative SSO, \(walk.profile.title)") }
        for outcome in outcomes {
            table.record(outcome.scenario, walk.profile, passed: outcome.failure == nil)
            if let failure = outcome.failure {
                write("\nFAILED: \(outcome.scenario.title), \(walk.profile.title): \(failure)")
            }
            if tellsAll || outcome.failure != nil { for line in outcome.lines { write(line) } }
        }
    }
}

/// One walk, with what it has to say.
private struct Walk: Sendable {
    struct Outcome: Sendable {
        let scenario: Scenario
        let failure: String?
        let lines: [String]
    }

    let profile: DemonstratedProfile
    private let lines = HeldLines()
    private let run: ScenarioRun

    init(_ description: EnvironmentDescription, _ profile: DemonstratedProfile) throws {
        self.profile = profile
        run = try ScenarioRun(description: description, profile: profile) { [lines] in lines.append($0) }
    }

    func run(_ scenarios: [Scenario]) async -> [Outcome] {
        var outcomes: [Outcome] = []
        for scenario in scenarios {
            var failure: String?
            do { try await scenario.run(run) } catch { failure = "\(error)" }
            outcomes.append(Outcome(scenario: scenario, failure: failure, lines: lines.take()))
        }
        return outcomes
    }
}

/// Lines that are printed later, all at once.
final class HeldLines: Sendable {
    private let lines = Mutex<[String]>([])

    func append(_ line: String) { lines.withLock { $0.append(line) } }

    /// All of them; none are left.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}
