import ArgumentParser
import NativeSSO
import Registry

/// `native-sso group`
struct GroupCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "group", abstract: "Which apps may share logins.",
        subcommands: [
            GroupAddCommand.self, GroupListCommand.self, GroupShowCommand.self, GroupRemoveCommand.self,
            GroupMemberCommand.self,
        ])
}

/// `native-sso group add`
struct GroupAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Make a group without members.")

    @Argument(help: "Its name.") var id: GroupID
    @Option(help: "The identity provider whose logins are shared.") var issuer: Issuer
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.administer { registry throws(AdministrationError) in
            try await registry.addGroup(id, issuer: issuer, options.act(reason: why.reason))
        }
        try options.output.show(Record([("group_id", .text(id.string)), ("issuer", .text(issuer.string))]))
    }
}

/// `native-sso group list`
struct GroupListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "All groups.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let groups = try await options.administer { registry throws(AdministrationError) in
            try await registry.groups()
        }
        var table = Table("groups", columns: ["group_id", "issuer", "members"])
        for group in groups {
            table.append([
                .text(group.id.string), .text(group.issuer.string), .list(group.members.map(\.client.string)),
            ])
        }
        try options.output.show(table)
    }
}

/// `native-sso group show`
struct GroupShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "The members of one group.")

    @Argument(help: "Its name.") var id: GroupID
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let groups = try await options.administer { registry throws(AdministrationError) in
            try await registry.groups()
        }
        guard let group = groups.first(where: { $0.id == id }) else {
            throw CommandFailure.notFound("group \(id) does not exist")
        }
        var table = Table("members", columns: ["client_id", "role", "scope_ceiling"])
        for member in group.members {
            table.append([
                .text(member.client.string), .text(member.role.rawValue),
                member.scopeCeiling.map { .list($0.tokens) } ?? .none,
            ])
        }
        try options.output.show(table)
    }
}

/// `native-sso group remove`
struct GroupRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a group: its members share no logins any more.")

    @Argument(help: "Its name.") var id: GroupID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let groups = try await options.administer { registry throws(AdministrationError) in
            try await registry.groups()
        }
        guard let group = groups.first(where: { $0.id == id }) else {
            throw CommandFailure.notFound("group \(id) does not exist")
        }
        let plan = Plan(
            "remove group \(id) of \(group.issuer)",
            consequences: group.members.map { "\($0.client) shares no login any more" })
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.removeGroup(id, act)
            }
        }
    }
}
