import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct RegistryFileCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "registry", abstract: "Manage clients, groups and scopes in a file under version control.",
        subcommands: [RegistryPlanCommand.self, RegistryApplyCommand.self, RegistryExportCommand.self])
}

/// What a plan is made of.
struct RegistryFileOptions: ParsableArguments {
    @Argument(help: "The registry file.") var file: String

    @Flag(help: "Remove what this file once managed and no longer has.")
    var prune = false

    @Flag(help: "Manage from now on what another registry file manages.")
    var takeOver = false

    /// Compares the file with the registry. Changes nothing.
    fileprivate func report(_ registry: Administration) async throws -> RegistryPlanReport {
        let file = try RegistryFile.read(file)
        try file.check()
        let contents = try await registry.registryContents()
        var planner = RegistryPlanner(
            file, contents, RegistryPlan.Permissions(prune: prune, takesOver: takeOver),
            algorithms: try await registry.activeAlgorithms())
        let plan = try planner.plan()
        return RegistryPlanReport(plan: plan, impact: try await RegistryImpact.of(plan, in: registry))
    }
}

extension GlobalOptions {
    /// The same warnings as those of the commands for one client or group.
    fileprivate func warn(about plan: RegistryPlan) throws {
        var warnings: [String] = []
        let groups = plan.after.groupList
        for step in plan.steps {
            switch step.change {
            case .addClient(let client), .updateClient(let client):
                warnings += client.scopeWarnings
                if client.asksForStepUp { warnings += client.stepUpWarning(groups) }
            case .addGroup(_, let issuer):
                warnings += try self.warnings(ofGroupAt: issuer)
            case .putScope, .removeMember, .putMember, .removeGroup, .removeClient, .removeScope: break
            }
        }
        let shown = warnings.prefix(20)
        let rest = warnings.count - shown.count
        output.warn(shown + (rest > 0 ? ["… and \(rest.counted("warning"))"] : []))
    }
}

struct RegistryPlanCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Show what a registry file changes, and what it does to live users.",
        discussion: "The plan ends with the serial number of the registry, which `registry apply` asks for.")

    @OptionGroup var file: RegistryFileOptions
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> RegistryPlanReport {
        let report = try await file.report(registry)
        try options.warn(about: report.plan)
        return report
    }
}

struct RegistryApplyCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Make the registry what a file says, in one transaction.",
        discussion: """
            Without --execute it shows the plan. With --execute it does all of the plan or nothing. It refuses if the \
            registry has changed since the plan with this serial number.
            """)

    @OptionGroup var file: RegistryFileOptions

    @Option(help: "The serial number that the plan showed.") var serial: Int64?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        if execution.execute, serial == nil {
            throw ValidationError("--execute needs --serial, which registry plan shows.")
        }
    }

    func result(_ registry: Administration) async throws -> RegistryPlanReport {
        var report = try await file.report(registry)
        try options.warn(about: report.plan)
        guard execution.execute, let serial, !report.plan.isEmpty else { return report }
        let act = options.act(execution.why)
        // The plan was made of what is registered now. If that is not what the operator saw, this serial is too old.
        let plan = report.plan
        try await Progress.showing("apply \(plan.changes.count.counted("change"))") {
            try await registry.apply(plan.changes, managing: plan.adopted, file: plan.file, at: serial, act)
        }
        report.requestID = act.requestID
        return report
    }
}

struct RegistryExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write a registry file of what is registered now.",
        discussion: "What other registry files manage is left out. Secrets and keys are never in it.")

    @Argument(help: "The new file. By default the text goes to standard output.") var file: String?
    @Option(help: "The name of the registry file.") var name = GroupID(validated: "registry")
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let contents = try await options.administer { try await $0.registryContents() }
        let text = RegistryYAML.text(contents, name: name.string)
        guard let file else { return try StandardStream.output.write(Array(text.utf8)) }
        try NewFile.write(text, to: file)
        try options.output.show(
            ["file": .text(file), "name": .text(name.string), "serial": .number(contents.serial)] as Record)
    }
}
