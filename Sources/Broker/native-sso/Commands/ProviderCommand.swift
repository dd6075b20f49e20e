import ArgumentParser
import NativeSSO
import Registry

struct ProviderCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "idp", abstract: "Stop and resume logins from an identity provider at run time.",
        subcommands: [ProviderListCommand.self, ProviderSuspendCommand.self, ProviderResumeCommand.self])
}

struct ProviderListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the identity providers that the configuration or the registry names, with their live sessions.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        // Without them, the list has what the registry knows.
        let providers = try options.read(openingFiles: false) {
            $0.isGiven("identity_providers") ? $0.identityProviders($0.sessions()) : []
        }
        let configured = providers.filter { !$0.isDisabled }.map(\.issuer)
        let rows = try await options.administer { registry in
            let suspended = try await registry.suspendedProviders()
            let others = try await registry.knownProviders().filter { !configured.contains($0) }
            var rows: [(issuer: Issuer, since: UnixTime?, impact: SessionImpact)] = []
            for issuer in configured + others {
                rows.append(
                    (
                        issuer, suspended.first { $0.issuer == issuer }?.suspendedAt,
                        try await registry.impact(ofEnding: .issued(by: issuer, between: nil))
                    ))
            }
            return rows
        }
        let table = Table("providers", rows) {
            [
                "issuer": .text($0.issuer.string),
                "configured": providers.isEmpty ? .none : .flag(configured.contains($0.issuer)),
                "suspended_at": Cell($0.since), "live_sessions": .number($0.impact.sessions),
                "users": .number($0.impact.users),
            ]
        }
        try options.output.show(table)
    }
}

struct ProviderSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend", abstract: "Take no id_token and no code of an identity provider until you resume it.",
        discussion: """
            Every broker refuses them with the reason idp_suspended, within 3 s after the command. Logouts and security \
            events of the provider still count. Sessions that live go on, and so do their refreshes: to end them, use \
            `session end --idp`.
            """)

    @Argument(help: "The issuer of the identity provider.") var issuer: Issuer
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let isConfigured = try options.read { $0.issuers() }.contains(issuer)
        let (impact, suspended) = try await options.administer { registry in
            (
                try await registry.impact(ofEnding: .issued(by: issuer, between: nil)),
                try await registry.suspendedProviders()
            )
        }
        guard isConfigured || impact.sessions > 0 else {
            throw CommandFailure.notFound(
                "\(issuer) is not in the configuration and has no live session: check how it is spelled")
        }
        guard !suspended.contains(where: { $0.issuer == issuer }) else {
            throw CommandFailure.refused("\(issuer) is suspended already")
        }
        let live = "\(impact.sessions.counted("live session")) of \(impact.users.counted("user"))"
        let plan = Plan(
            "suspend \(issuer)",
            consequences: [
                "no user who logs in there gets in, and no app exchanges an id_token of it",
                impact.sessions == 0
                    ? "no session of it is live"
                    : "sends no user to a login page: \(live) \(impact.sessions == 1 ? "goes" : "go") on, with refreshes; "
                        + "to end what is live: native-sso session end --idp \(issuer)",
            ])
        try await execution.carryOut(plan, options) { try await $0.suspend(issuer, $1) }
    }
}

struct ProviderResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Take logins of a suspended identity provider again.",
        discussion: "If its keys were stolen, revoke them first: `idp-key revoke`.")

    @Argument(help: "The issuer of the identity provider.") var issuer: Issuer
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let suspended = try await options.administer { try await $0.suspendedProviders() }
        guard let found = suspended.first(where: { $0.issuer == issuer }) else {
            throw CommandFailure.refused("\(issuer) is not suspended")
        }
        let plan = Plan(
            "resume \(issuer)",
            consequences: [
                "id_tokens and codes of it count again, also those issued since \(found.suspendedAt.rfc3339)"
            ])
        try await execution.carryOut(plan, options) { try await $0.resume(issuer, $1) }
    }
}
