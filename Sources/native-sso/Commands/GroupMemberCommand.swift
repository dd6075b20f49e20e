import ArgumentParser
import NativeSSO
import Registry

/// `native-sso group member`
struct GroupMemberCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "member", abstract: "Who is in a group.",
        subcommands: [GroupMemberAddCommand.self, GroupMemberRemoveCommand.self])
}

/// `native-sso group member add`
struct GroupMemberAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Take a client into a group, or change its place there.")

    @Argument(help: "The group.") var group: GroupID
    @Argument(help: "The client.") var client: ClientID

    @Option(help: "source: others may use its logins. target: it may use those of others. Or both.")
    var role: Membership.Role

    @Option(
        help: ArgumentHelp(
            "The most it gets by an exchange. What a member has stays where this is not given.",
            valueName: "\"scope …\""))
    var scopeCeiling: Scope?

    @Flag(help: "It has no ceiling any more: it gets whatever it is allowed.")
    var noScopeCeiling = false

    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard scopeCeiling == nil || !noScopeCeiling else {
            throw ValidationError("Give --scope-ceiling or --no-scope-ceiling, not both.")
        }
    }

    func run() async throws {
        let ceiling: SharingGroup.CeilingChange = scopeCeiling.map { .set($0) } ?? (noScopeCeiling ? .remove : .keep)
        let member = try await options.administer { registry throws(AdministrationError) in
            try await registry.putMember(client, role, ceiling: ceiling, in: group, options.act(reason: why.reason))
        }
        try options.output.show(
            Record([
                ("group_id", .text(group.string)), ("client_id", .text(client.string)),
                ("role", .text(role.rawValue)),
                ("scope_ceiling", member.scopeCeiling.map { .list($0.tokens) } ?? .none),
            ]))
    }
}

/// `native-sso group member remove`
struct GroupMemberRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take a client out of a group, at once and on every broker.")

    @Argument(help: "The group.") var group: GroupID
    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let groups = try await options.administer { registry throws(AdministrationError) in
            try await registry.groups()
        }
        guard let members = groups.first(where: { $0.id == group })?.members,
            let member = members.first(where: { $0.client == client })
        else { throw CommandFailure.notFound("client \(client) in group \(group) does not exist") }
        let plan = Plan(
            "remove client \(client) (\(member.role.rawValue)) from group \(group)",
            consequences: ["what it got by exchanges of this group is refused from its next refresh on"])
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.removeMember(client, from: group, act)
            }
        }
    }
}
