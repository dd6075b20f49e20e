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
        options.output.warn(try options.warnings(ofGroupAt: issuer))
        return ["group_id": .text(id.string), "issuer": .text(issuer.string)]
    }
}

extension GlobalOptions {
    /// A configuration for administration need not name identity providers.
    func warnings(ofGroupAt issuer: Issuer) throws(ConfigurationError) -> [String] {
        let configured = try read { $0.issuers() }
        guard !configured.isEmpty, !configured.contains(issuer) else { return [] }
        return [
            "warning: \(issuer) is the issuer of none of the identity_providers in \(config), so that no login uses "
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
        Table("members", try await registry.groups().require(id).members, row: Record.init)
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
        let step = RegistryPlan.Step(.remove, "group \(id)", [], .removeGroup(id))
        let (group, impact) = try await options.administer { registry in
            let contents = try await registry.registryContents()
            let group = try contents.groups.require(id)
            return (group, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let plan = Plan(
            "remove group \(id) of \(group.issuer)", step, impact,
            further: group.members.map { "\($0.client) shares no login any more" })
        try await execution.carryOut(plan, options) { try await $0.removeGroup(id, $1) }
    }
}

struct GroupMemberCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "member", abstract: "Manage the members of a group.",
        subcommands: [GroupMemberAddCommand.self, GroupMemberRemoveCommand.self])
}

struct GroupMemberAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a client to a group, or change its role there.",
        discussion: "If live grants are refused by another role, it shows how many, and needs --execute.")

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

    @OptionGroup var execution: ExecutionOptions
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

    func run() async throws {
        let settings = SharingGroup.MemberChange(
            ceiling: scopeCeiling.map { .set($0) } ?? (noScopeCeiling ? .remove : .keep),
            handoff: handoff.map { .set($0) } ?? (noHandoff ? .remove : .keep),
            handoffOrigins: handoffOrigin.isEmpty ? (noHandoffOrigins ? .remove : .keep) : .set(handoffOrigin))
        let (step, member, impact) = try await options.administer { registry in
            let contents = try await registry.registryContents()
            let old = try contents.groups.member(client, toBeIn: group)
            let member = settings.member(client, role, replacing: old)
            let step = RegistryPlan.Step(
                old == nil ? .add : .update, "member \(client) of group \(group)",
                RegistryPlan.Step.difference(old.map { Record($0) }, Record(member)), client: client,
                .putMember(member, group))
            return (step, member, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let result: Record = [
            "group_id": .text(group.string), "client_id": .text(client.string), "role": .text(role.rawValue),
            "scope_ceiling": Cell(member.scopeCeiling), "handoff": Cell(member.handoff?.rawValue),
            "handoff_origins": Cell(member.handoffOrigins),
        ]
        let plan = Plan("put client \(client) (\(role.rawValue)) into group \(group)", step, impact)
        try await execution.carryOut(plan, touching: impact, options, showing: result) {
            try await $0.putMember(client, role, settings, in: group, $1)
        }
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
        let step = RegistryPlan.Step(
            .remove, "member \(client) of group \(group)", client: client, .removeMember(client, group))
        let (member, impact) = try await options.administer { registry in
            let contents = try await registry.registryContents()
            let members = try contents.groups.require(group).members
            guard let member = members.first(where: { $0.client == client }) else {
                throw AdministrationError.notFound("client \(client) in group \(group)")
            }
            return (member, try await RegistryImpact.of(RegistryPlan(step, on: contents), in: registry))
        }
        let plan = Plan(
            "remove client \(client) (\(member.role.rawValue)) from group \(group)", step, impact,
            further: ["what it got by exchanges of this group is refused from its next refresh on"])
        try await execution.carryOut(plan, options) { try await $0.removeMember(client, from: group, $1) }
    }
}

extension [SharingGroup] {
    /// The member as it is; `nil`: the client is new there. Throws if the client is in another group of the issuer.
    fileprivate func member(
        _ client: ClientID, toBeIn id: GroupID
    ) throws(AdministrationError) -> SharingGroup.Member? {
        let group = try require(id)
        let places = filter { $0.issuer == group.issuer && $0.members.contains { $0.client == client } }
        if let other = places.first(where: { $0.id != id }) {
            throw .refused(
                "client \(client) is in group \(other.id) of the same identity provider; remove it there first")
        }
        return group.members.first { $0.client == client }
    }

    fileprivate func require(_ id: GroupID) throws(AdministrationError) -> SharingGroup {
        guard let group = first(where: { $0.id == id }) else { throw .notFound("group \(id)") }
        return group
    }
}
