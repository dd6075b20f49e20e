import Synchronization

/// Runs every scenario in every walk, the walks side by side, and prints one after the other.
struct ScenarioWalks: Sendable {
    let description: EnvironmentDescription
    let write: @Sendable (String) -> Void

    /// What happened, in the end.
    func run() async throws -> ScenarioTable {
        let profiles = description.profiles.flatMap(DemonstratedProfile.all)
        var table = ScenarioTable(profiles)
        for line in ["The documents:"] + Scenario.documents.map({ "  \($0)" }) { write(line) }
        let walks = try profiles.map { try Walk(description, $0) }
        let shared = Scenario.all.dropLast(Scenario.exclusive)
        try await withThrowingTaskGroup { group in
            for walk in walks { group.addTask { (walk, await walk.run(Array(shared), preparing: true)) } }
            for try await (walk, outcomes) in group { finish(walk, outcomes, &table) }
        }
        for scenario in Scenario.all.suffix(Scenario.exclusive) {
            for walk in walks { finish(walk, await walk.run([scenario], preparing: false), &table) }
        }
        return table
    }

    private func finish(
        _ walk: Walk, _ outcomes: [(Scenario, Bool)], _ table: inout ScenarioTable
    ) {
        for line in walk.lines.take() { write(line) }
        for (scenario, passed) in outcomes { table.record(scenario, walk.profile, passed: passed) }
    }
}

/// One walk, with what it has to say.
private struct Walk: Sendable {
    let profile: DemonstratedProfile
    let lines = HeldLines()
    private let run: ScenarioRun

    init(_ description: EnvironmentDescription, _ profile: DemonstratedProfile) throws {
        self.profile = profile
        run = try ScenarioRun(description: description, profile: profile) { [lines] in lines.append($0) }
    }

    /// - Parameter preparing: Whether the walk begins with these.
    func run(_ scenarios: [Scenario], preparing: Bool) async -> [(Scenario, Bool)] {
        run.narrator.title("Native SSO, \(profile.title)")
        if preparing {
            do {
                run.narrator.note("two apps log in: their refresh tokens will have expired at the end of this walk")
                try await run.prepare()
            } catch {
                run.narrator.note("FAILED: \(error)")
            }
        }
        var outcomes: [(Scenario, Bool)] = []
        for scenario in scenarios {
            do {
                try await scenario.run(run)
                outcomes.append((scenario, true))
            } catch {
                run.narrator.note("FAILED: \(scenario.title): \(error)")
                outcomes.append((scenario, false))
            }
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
