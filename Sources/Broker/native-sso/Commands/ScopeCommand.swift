import ArgumentParser
import NativeSSO
import Registry

struct ScopeCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "scope", abstract: "Manage scopes that need special handling, such as consent.",
        subcommands: [ScopeAddCommand.self, ScopeListCommand.self, ScopeRemoveCommand.self])
}

/// One scope token, RFC 6749 §3.3.
struct ScopeName: ParsableArguments {
    @Argument(help: "The scope.") var name: Scope

    mutating func validate() throws {
        guard name.tokens.count == 1 else { throw ValidationError("Name one scope, without spaces.") }
    }

    var string: String { name.description }
}

struct ScopeAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register a scope, or change it.",
        discussion:
            "If live grants have a scope that needs consent from now on, it shows how many, and needs --execute.")

    @OptionGroup var scope: ScopeName

    @Flag(
        inversion: .prefixedNo,
        help: """
            Whether only a login in the browser grants it, never an exchange. A new scope: no. By default the registered \
            setting stays.
            """)
    var requiresConsent: Bool?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let name = scope.string
        let (new, step, impact) = try await options.administer { registry in
            let contents = try await registry.registryContents()
            let old = contents.scopes.first { $0.name == name }
            let new = RegisteredScope(
                name: name, requiresConsent: requiresConsent ?? old?.requiresConsent ?? false)
            let step = RegistryPlan.Step(
                old == nil ? .add : .update, "scope \(name)",
                RegistryPlan.Step.difference(old.map { Record($0) }, Record(new)), .putScope(new))
            return (new, step, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let plan = Plan("\(step.action.rawValue) scope \(name)", step, impact)
        try await execution.carryOut(plan, touching: impact, options, showing: Record(new)) {
            _ = try await $0.putScope(name, requiresConsent: requiresConsent, $1)
        }
    }
}

struct ScopeListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List all registered scopes.")

    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("scopes", try await registry.scopes(), row: Record.init)
    }
}

extension Record {
    init(_ scope: RegisteredScope) {
        self = ["scope": .text(scope.name), "requires_consent": .flag(scope.requiresConsent)]
    }
}

struct ScopeRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a scope from the registry. It no longer needs consent.")

    @OptionGroup var scope: ScopeName
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let name = scope.string
        let scopes = try await options.administer { try await $0.scopes() }
        guard let registered = scopes.first(where: { $0.name == name }) else {
            throw AdministrationError.notFound("scope \(name)")
        }
        let plan = Plan(
            "remove scope \(name)",
            consequences: registered.requiresConsent ? ["an exchange may grant it without consent"] : [])
        try await execution.carryOut(plan, options) { try await $0.removeScope(name, $1) }
    }
}
