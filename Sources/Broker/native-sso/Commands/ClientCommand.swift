import ArgumentParser
import NativeSSO
import Registry

struct ClientCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "client", abstract: "Manage client applications.",
        subcommands: [
            ClientAddCommand.self, ClientListCommand.self, ClientShowCommand.self, ClientUpdateCommand.self,
            ClientEnableCommand.self, ClientDisableCommand.self, ClientRemoveCommand.self, ClientSecretCommand.self,
            ClientKeyCommand.self,
        ])
}

struct ClientAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register a client.",
        discussion: """
            You cannot change the authentication method later: remove the client and add it again. A client_secret_basic \
            client needs `client secret rotate`, a private_key_jwt client needs `client key add`, before it can authenticate.
            """)

    @Argument(help: "The client_id.") var id: ClientID
    @Option(help: "`none`: an app on a device, which cannot keep a secret.")
    var authentication = Client.Authentication.none
    @OptionGroup var settings: ClientSettings
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard !settings.audience.isEmpty else {
            throw ValidationError("--audience names at least one resource server.")
        }
    }

    func run() async throws {
        let client = settings.client(id, authentication)
        try await options.administer { registry in
            try await registry.checkAlgorithms(of: client)
            try await registry.add(client, options.act(why))
        }
        try options.output.show(Record(client))
        options.output.warn(client.scopeWarnings + client.stepUpWarning([]))
    }
}

struct ClientUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change the given settings; keep the others.",
        discussion: "If live grants follow the change, it shows how many, and needs --execute.")

    @Argument(help: "The client_id.") var id: ClientID
    @OptionGroup var settings: ClientSettings
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let changed = try await options.change(id, execution, "update") { settings.change(&$0) }
        if settings.allowedScope != nil { options.output.warn(changed.scopeWarnings) }
        guard changed.asksForStepUp else { return }
        let groups = try await options.administer { try await $0.groups() }
        options.output.warn(changed.stepUpWarning(groups))
    }
}

struct ClientEnableCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Enable a disabled client.")

    @Argument(help: "The client_id.") var id: ClientID
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Record {
        var client = try await registry.clients().require(id)
        client.isEnabled = true
        try await registry.checkAlgorithms(of: client)
        try await registry.update(client, options.act(why))
        return Record(client)
    }
}

struct ClientDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Refuse all requests of a client until you enable it again.",
        discussion: "If it has live grants, it shows how many, and needs --execute.")

    @Argument(help: "The client_id.") var id: ClientID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws { try await options.change(id, execution, "disable") { $0.isEnabled = false } }
}

extension GlobalOptions {
    /// A change to a client that exists.
    @discardableResult
    fileprivate func change(
        _ id: ClientID, _ execution: ExecutionOptions, _ action: String, _ change: (inout Client) -> Void
    ) async throws -> Client {
        let (changed, step, impact) = try await administer { registry in
            let contents = try await registry.registryContents()
            let old = try contents.clients.require(id)
            var changed = old
            change(&changed)
            if let defect = changed.scopeDefect {
                throw AdministrationError.refused("the default scope \(defect.message)")
            }
            try await registry.checkAlgorithms(of: changed)
            let step = RegistryPlan.Step(
                .update, "client \(id)", RegistryPlan.Step.difference(Record(old), Record(changed)), client: id,
                .updateClient(changed))
            return (changed, step, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let plan = Plan("\(action) client \(id)", step, impact)
        try await execution.carryOut(plan, touching: impact, self, showing: Record(changed)) {
            try await $0.update(changed, $1)
        }
        return changed
    }
}

struct ClientListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List all clients.")

    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("clients", try await registry.clients()) {
            [
                "client_id": .text($0.id.string), "enabled": .flag($0.isEnabled),
                "authentication": .text($0.authentication.rawValue), "allowed_scope": .list($0.allowedScope.tokens),
                "audiences": .list($0.audiences),
            ]
        }
    }
}

struct ClientShowCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one client.")

    @Argument(help: "The client_id.") var id: ClientID
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Record {
        Record(try await registry.clients().require(id))
    }
}

struct ClientRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a client, its memberships and its grants.")

    @Argument(help: "The client_id.") var id: ClientID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let step = RegistryPlan.Step(.remove, "client \(id)", client: id, .removeClient(id))
        let (groups, impact) = try await options.administer { registry in
            let contents = try await registry.registryContents()
            try contents.clients.require(id)
            return (contents.groups, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let memberships = groups.filter { $0.members.contains { $0.client == id } }
        let plan = Plan(
            "remove client \(id)", step, impact,
            further: memberships.map { "it leaves group \($0.id)" } + ["every refresh token it holds ends"])
        try await execution.carryOut(plan, options) { try await $0.removeClient(id, $1) }
    }
}

extension [Client] {
    @discardableResult
    func require(_ id: ClientID) throws(AdministrationError) -> Client {
        guard let client = first(where: { $0.id == id }) else { throw .notFound("client \(id)") }
        return client
    }
}

extension Administration {
    /// Refuses an algorithm without an active key: every request of the client would be answered 503.
    fileprivate func checkAlgorithms(of client: Client) async throws(AdministrationError) {
        guard client.accessTokenAlgorithm != nil || client.idTokenAlgorithm != nil else { return }
        if let defect = client.algorithmDefect(try await activeAlgorithms()) { throw .refused(defect) }
    }

    func activeAlgorithms() async throws(AdministrationError) -> Set<KeyAlgorithm> {
        Set(try await keys().records.filter { $0.state == .active }.map(\.algorithm))
    }

    /// Refuses a client that does not exist or uses another authentication method.
    func require(_ id: ClientID, _ method: Client.Authentication) async throws(AdministrationError) {
        let client = try await clients().require(id)
        guard client.authentication == method else {
            throw .refused("client \(id) is one of \(client.authentication.rawValue)")
        }
    }
}

extension Record {
    init(_ client: Client) {
        self = [
            "client_id": .text(client.id.string), "enabled": .flag(client.isEnabled),
            "authentication": .text(client.authentication.rawValue),
            "grants": .list(client.grants.map(\.rawValue).sorted()),
            "allowed_scope": .list(client.allowedScope.tokens), "default_scope": .list(client.defaultScope.tokens),
            "audiences": .list(client.audiences), "access_token_lifetime": Cell(client.accessTokenLifetime),
            "refresh_token_lifetime": Cell(client.refreshTokenLifetime),
            "issues_refresh_token": .flag(client.issuesRefreshToken), "issues_id_token": .flag(client.issuesIDToken),
            "allows_self_exchange": .flag(client.allowsSelfExchange),
            "accepted_acr": .list(client.acceptedContextClasses),
            "maximum_authentication_age": Cell(client.maximumAuthenticationAge),
            "dpop": .text(client.proofPolicy.rawValue), "copied_claims": .list(client.copiedClaims),
            "assertion_audience": .text(client.assertionAudience.rawValue),
            "assertion_lifetime": Cell(client.assertionLifetime),
            "introspects": .list(client.introspects),
            "access_token_algorithm": Cell(client.accessTokenAlgorithm?.rawValue),
            "id_token_algorithm": Cell(client.idTokenAlgorithm?.rawValue),
        ]
    }
}
