import ArgumentParser
import NativeSSO
import Registry

/// `native-sso sweep`
struct SweepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep", abstract: "Delete records whose retention period has passed.",
        discussion: "A running broker does the same by itself, every hour. See also: native-sso retention.")

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        guard execution.execute else {
            let prospect = try await options.administer { try await $0.sweepable() }
            try options.output.show(Self.plan(prospect))
            return
        }
        let act = options.act(execution.why)
        let swept = try await options.administer { try await $0.sweep(act) }
        guard let report = swept else { throw CommandFailure.refused("another sweep is running; nothing was removed") }
        try options.output.show(Self.plan(report).done(by: act))
        if !report.isComplete { throw CommandFailure.refused("another sweep came between; the rest is left to it") }
    }

    private static func plan(_ report: SweepReport) -> Plan {
        Plan(
            "delete records whose retention period has passed",
            consequences: [
                "\(report.sessions) sessions with their grants", "\(report.grants) revoked grants",
                "\(report.devices) devices", "\(report.proofs) used proofs and codes",
                "\(report.logouts) marks of users who logged out",
                "\(report.auditMonths) months of the audit",
            ])
    }
}
