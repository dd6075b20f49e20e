import ArgumentParser
import NativeSSO
import Registry

struct RetentionCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "retention", abstract: "Show and set how long ended records are kept.",
        subcommands: [RetentionShowCommand.self, RetentionSetCommand.self])
}

extension Record {
    fileprivate init(_ policy: RetentionPolicy) {
        self = ["session_days": .number(Int64(policy.sessionDays)), "audit_days": .number(Int64(policy.auditDays))]
    }
}

struct RetentionShowCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show the retention periods.")

    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Record { Record(try await registry.retention()) }
}

struct RetentionSetCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change the retention periods.",
        discussion: "A shorter period deletes records in the next sweep: native-sso sweep shows which.")

    @Option(help: "Days to keep sessions, grants, devices and logouts of users after their end, from 90 to 3650.")
    var sessionDays: Int32?

    @Option(help: "Days to keep the audit after the end of its month, from 30 to 3650.")
    var auditDays: Int32?

    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        if sessionDays == nil, auditDays == nil { throw ValidationError("Give --session-days, --audit-days or both.") }
        // As the constraints of the table.
        guard (90...3650).contains(sessionDays ?? 90) else {
            throw ValidationError("--session-days is from 90 to 3650.")
        }
        guard (30...3650).contains(auditDays ?? 30) else { throw ValidationError("--audit-days is from 30 to 3650.") }
    }

    func result(_ registry: Administration) async throws -> Record {
        Record(try await registry.setRetention(sessionDays: sessionDays, auditDays: auditDays, options.act(why)))
    }
}

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
        let swept = try await Progress.showing("sweep") { try await options.administer { try await $0.sweep(act) } }
        guard let report = swept else { throw CommandFailure.refused("another sweep is running; nothing was removed") }
        try options.output.show(Self.plan(report).done(by: act))
        if !report.isComplete { throw CommandFailure.refused("another sweep came between; the rest is left to it") }
    }

    private static func plan(_ report: SweepReport) -> Plan {
        Plan(
            "delete records whose retention period has passed",
            consequences: [
                "\(report.sessions.counted("session")) with \(report.sessions == 1 ? "its" : "their") grants",
                report.grants.counted("revoked grant"), report.devices.counted("device"),
                report.proofs.counted("used proof or code", plural: "used proofs and codes"),
                report.logouts.counted("mark of a user who logged out", plural: "marks of users who logged out"),
                "\(report.auditMonths.counted("month")) of the audit",
            ])
    }
}
