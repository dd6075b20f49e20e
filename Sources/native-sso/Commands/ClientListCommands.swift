import ArgumentParser
import NativeSSO
import Registry

/// `native-sso client list`
struct ClientListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "All clients.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let clients = try await options.administer { registry throws(AdministrationError) in
            try await registry.clients()
        }
        var table = Table("clients", columns: ["client_id", "enabled", "authentication", "allowed_scope", "audiences"])
        for client in clients {
            table.append([
                .text(client.id.string), .flag(client.isEnabled), .text(client.authentication.rawValue),
                .list(client.allowedScope.tokens), .list(client.audiences),
            ])
        }
        try options.output.show(table)
    }
}

/// `native-sso client show`
struct ClientShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "All that is known of one client.")

    @Argument(help: "Its client_id.") var id: ClientID
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let client = try await options.administer { registry throws(AdministrationError) in
            try await registry.client(id)
        }
        guard let client else { throw CommandFailure.notFound("client \(id) does not exist") }
        try options.output.show(Record(client))
    }
}

/// `native-sso client remove`
struct ClientRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a client, its memberships and its grants.")

    @Argument(help: "Its client_id.") var id: ClientID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (client, groups) = try await options.administer { registry throws(AdministrationError) in
            (try await registry.client(id), try await registry.groups())
        }
        guard client != nil else { throw CommandFailure.notFound("client \(id) does not exist") }
        let memberships = groups.filter { $0.members.contains { $0.client == id } }
        let plan = Plan(
            "remove client \(id)",
            consequences: memberships.map { "it leaves group \($0.id)" } + ["every refresh token it holds ends"])
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.removeClient(id, act)
            }
        }
    }
}

extension Record {
    init(_ client: Client) {
        self.init([
            ("client_id", .text(client.id.string)), ("enabled", .flag(client.isEnabled)),
            ("authentication", .text(client.authentication.rawValue)),
            ("grants", .list(client.grants.map(\.rawValue).sorted())),
            ("allowed_scope", .list(client.allowedScope.tokens)), ("default_scope", .list(client.defaultScope.tokens)),
            ("audiences", .list(client.audiences)), ("access_token_lifetime", Cell(client.accessTokenLifetime)),
            ("refresh_token_lifetime", Cell(client.refreshTokenLifetime)),
            ("issues_refresh_token", .flag(client.issuesRefreshToken)),
            ("issues_id_token", .flag(client.issuesIDToken)), ("includes_session_id", .flag(client.includesSessionID)),
            ("allows_self_exchange", .flag(client.allowsSelfExchange)),
            ("accepted_acr", .list(client.acceptedContextClasses)),
            ("maximum_authentication_age", Cell(client.maximumAuthenticationAge)),
            ("dpop", .text(client.proofPolicy.rawValue)),
        ])
    }
}

extension Cell {
    /// As it is written in the configuration.
    init(_ span: Seconds?) { self = span.map { .text(DurationText.format($0)) } ?? .none }

    init(_ instant: UnixTime?) { self = instant.map(Cell.instant) ?? .none }
}
