import ArgumentParser
import NativeSSO
import Registry

/// `native-sso sweep`
struct SweepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep", abstract: "Remove what is over for longer than it is to be kept.",
        discussion: "A running broker does the same by itself, every retention.interval.")

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let policy = try options.configuration().retention.policy
        guard execution.execute else {
            let prospect = try await options.administer { try await $0.sweepable(policy) }
            try options.output.show(Self.plan(prospect))
            return
        }
        let act = options.act(execution.why)
        let swept = try await options.administer { try await $0.sweep(policy, act) }
        guard let report = swept else { throw CommandFailure.refused("another sweep is running; nothing was removed") }
        try options.output.show(Self.plan(report).done(by: act))
        if !report.isComplete { throw CommandFailure.refused("another sweep came between; the rest is left to it") }
    }

    private static func plan(_ report: SweepReport) -> Plan {
        Plan(
            "remove what is over",
            consequences: [
                "\(report.sessions) sessions with their grants", "\(report.grants) revoked grants",
                "\(report.devices) devices", "\(report.proofs) used proofs",
                "\(report.logouts) marks of users who logged out",
                report.auditMonths.isEmpty
                    ? "no month of the audit" : "of the audit: " + report.auditMonths.joined(separator: ", "),
            ])
    }
}
