import ArgumentParser
import NativeSSO
import Registry

struct GroupCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "group", abstract: "Manage sharing groups: which apps may share logins.",
        subcommands: [
            GroupAddCommand.self, GroupListCommand.self, GroupShowCommand.self, GroupGraphCommand.self,
            GroupRemoveCommand.self, GroupMemberCommand.self,
        ])
}

struct GroupAddCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Create a group without members.")

    @Argument(help: "The group's name.") var id: GroupID
    @Option(help: "The identity provider whose logins are shared.") var issuer: Issuer
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Record {
        try await registry.addGroup(id, issuer: issuer, options.act(why))
        options.output.warn(try options.configuration().warnings(ofGroupAt: issuer, in: options.config))
        return ["group_id": .text(id.string), "issuer": .text(issuer.string)]
    }
}

extension Configuration {
    /// - Parameter file: The configuration's.
    func warnings(ofGroupAt issuer: Issuer, in file: String) -> [String] {
        guard identityProviders.allSatisfy({ $0.issuer != issuer }) else { return [] }
        return [
            "warning: \(issuer) is the issuer of none of the identity_providers in \(file), so that no login uses "
                + "the group; compare both, octet by octet"
        ]
    }
}

struct GroupListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List all groups.")

    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("groups", try await registry.groups()) {
            [
                "group_id": .text($0.id.string), "issuer": .text($0.issuer.string),
                "members": .list($0.members.map(\.client.string)),
            ]
        }
    }
}

struct GroupShowCommand: RegistryCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show the members of one group.")

    @Argument(help: "The group's name.") var id: GroupID
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("members", try await registry.group(id).members, row: Record.init)
    }
}

extension Record {
    init(_ member: SharingGroup.Member) {
        self = [
            "client_id": .text(member.client.string), "role": .text(member.role.rawValue),
            "scope_ceiling": Cell(member.scopeCeiling),
            "handoff": Cell(member.handoff?.rawValue),
            "handoff_origins": Cell(member.handoffOrigins),
        ]
    }
}

struct GroupRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a group. Its members no longer share logins.")

    @Argument(help: "The group's name.") var id: GroupID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let group = try await options.administer { try await $0.group(id) }
        let plan = Plan(
            "remove group \(id) of \(group.issuer)",
            consequences: group.members.map { "\($0.client) shares no login any more" })
        try await execution.carryOut(plan, options) { try await $0.removeGroup(id, $1) }
    }
}

struct GroupMemberCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "member", abstract: "Manage the members of a group.",
        subcommands: [GroupMemberAddCommand.self, GroupMemberRemoveCommand.self])
}

struct GroupMemberAddCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a client to a group, or change its role there.")

    @Argument(help: "The group.") var group: GroupID
    @Argument(help: "The client.") var client: ClientID

    @Option(help: "`source`: other apps may use its logins. `target`: it may use theirs.")
    var role: Membership.Role

    @Option(
        help: ArgumentHelp(
            "The largest scope of an exchange. By default an existing ceiling stays.", valueName: "\"scope …\""))
    var scopeCeiling: Scope?

    @Flag(help: "Remove the ceiling: the client's allowed scope applies.")
    var noScopeCeiling = false

    @Option(
        help:
            "Let it hand logins to the web apps of the group. `bearer`: unless it shows a DPoP key. `dpop`: also then. By default this stays, and a new member may not."
    )
    var handoff: Membership.Handoff?

    @Flag(help: "Let it hand off nothing.")
    var noHandoff = false

    @Option(
        help: ArgumentHelp(
            "Let this web app receive logins at this origin. Repeat the option for several; they replace the earlier ones.",
            valueName: "origin"))
    var handoffOrigin: [WebOrigin] = []

    @Flag(help: "Let it receive no logins by hand-off.")
    var noHandoffOrigins = false

    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard scopeCeiling == nil || !noScopeCeiling else {
            throw ValidationError("Give --scope-ceiling or --no-scope-ceiling, not both.")
        }
        guard handoff == nil || !noHandoff else {
            throw ValidationError("Give --handoff or --no-handoff, not both.")
        }
        guard handoffOrigin.isEmpty || !noHandoffOrigins else {
            throw ValidationError("Give --handoff-origin or --no-handoff-origins, not both.")
        }
    }

    func result(_ registry: Administration) async throws -> Record {
        let settings = SharingGroup.MemberChange(
            ceiling: scopeCeiling.map { .set($0) } ?? (noScopeCeiling ? .remove : .keep),
            handoff: handoff.map { .set($0) } ?? (noHandoff ? .remove : .keep),
            handoffOrigins: handoffOrigin.isEmpty ? (noHandoffOrigins ? .remove : .keep) : .set(handoffOrigin))
        let member = try await registry.putMember(client, role, settings, in: group, options.act(why))
        return [
            "group_id": .text(group.string), "client_id": .text(client.string), "role": .text(role.rawValue),
            "scope_ceiling": Cell(member.scopeCeiling), "handoff": Cell(member.handoff?.rawValue),
            "handoff_origins": Cell(member.handoffOrigins),
        ]
    }
}

struct GroupMemberRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a client from a group, at once on every broker.")

    @Argument(help: "The group.") var group: GroupID
    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let groups = try await options.administer { try await $0.groups() }
        guard let members = groups.first(where: { $0.id == group })?.members,
            let member = members.first(where: { $0.client == client })
        else { throw AdministrationError.notFound("client \(client) in group \(group)") }
        let plan = Plan(
            "remove client \(client) (\(member.role.rawValue)) from group \(group)",
            consequences: ["what it got by exchanges of this group is refused from its next refresh on"])
        try await execution.carryOut(plan, options) { try await $0.removeMember(client, from: group, $1) }
    }
}

extension Administration {
    fileprivate func group(_ id: GroupID) async throws(AdministrationError) -> SharingGroup {
        guard let group = try await groups().first(where: { $0.id == id }) else { throw .notFound("group \(id)") }
        return group
    }
}
