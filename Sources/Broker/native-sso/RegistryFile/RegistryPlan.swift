import NativeSSO
package import Registry

/// What a registry file changes, and in which order.
struct RegistryPlan {
    /// One line of the plan.
    struct Step: Sendable {
        enum Action: String, Sendable { case add, update, move, remove }

        let action: Action
        /// Such as `client app1`.
        let subject: String
        let settings: [(name: String, before: Cell?, after: Cell?)]
        /// The client whose live grants it may touch.
        let client: ClientID?
        let change: RegistryChange
        /// For a move: the removal from the group that the member leaves.
        let departure: RegistryChange?

        init(
            _ action: Action, _ subject: String, _ settings: [(name: String, before: Cell?, after: Cell?)] = [],
            client: ClientID? = nil, _ change: RegistryChange, departure: RegistryChange? = nil
        ) {
            self.action = action
            self.subject = subject
            self.settings = settings
            self.client = client
            self.change = change
            self.departure = departure
        }

        /// Such as `dpop: off -> required`.
        var changes: [String] {
            settings.map { setting in
                let change = [setting.before, setting.after].compactMap(\.self).map(\.shown).joined(separator: " -> ")
                return "\(setting.name): \(change)"
            }
        }

        /// The settings that differ. Of something new, those that say something.
        static func difference(_ old: Record?, _ new: Record) -> [(name: String, before: Cell?, after: Cell?)] {
            guard let old else {
                return new.fields.filter { $0.name != "client_id" && $0.value != .none && $0.value != .list([]) }.map {
                    ($0.name, nil, $0.value)
                }
            }
            return zip(old.fields, new.fields).filter { $0.value != $1.value }.map { ($0.name, $0.value, $1.value) }
        }
    }

    /// What `--prune` and `--take-over` allow.
    struct Permissions {
        var prune = false
        var takesOver = false
    }

    let file: String
    let before: RegistryState
    let after: RegistryState
    let serial: Int64
    let steps: [Step]
    /// What the file manages from now on, and did not before.
    let adopted: [RegistryContents.Item]
    /// What the file once managed and no longer has, if it stays.
    let stale: [RegistryContents.Item]

    var isEmpty: Bool { steps.isEmpty && adopted.isEmpty }

    /// In an order in which each is possible: a member leaves its group before it joins another.
    var changes: [RegistryChange] {
        (steps.compactMap(\.departure) + steps.map(\.change)).enumerated()
            .sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
    }
}

extension RegistryChange {
    fileprivate var rank: Int {
        switch self {
        case .putScope: 0
        case .addClient, .updateClient: 1
        case .addGroup: 2
        case .removeMember: 3
        case .putMember: 4
        case .removeGroup: 5
        case .removeClient: 6
        case .removeScope: 7
        }
    }
}

/// Clients and their places in groups, for the comparison of before and after.
struct RegistryState {
    struct Place: Hashable {
        let issuer: Issuer
        let client: ClientID
    }

    var clients: [ClientID: Client]
    var groups: [GroupID: Issuer]
    var members: [Place: (group: GroupID, member: SharingGroup.Member)]
    var scopes: [String: RegisteredScope]

    init(_ contents: RegistryContents) {
        clients = Dictionary(contents.clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        groups = Dictionary(contents.groups.map { ($0.id, $0.issuer) }, uniquingKeysWith: { first, _ in first })
        members = Dictionary(
            contents.groups.flatMap { group in
                group.members.map { (Place(issuer: group.issuer, client: $0.client), (group.id, $0)) }
            }, uniquingKeysWith: { first, _ in first })
        scopes = Dictionary(contents.scopes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    var groupList: [SharingGroup] {
        let members = Dictionary(grouping: members.values, by: \.group)
        return groups.map { SharingGroup(id: $0.key, issuer: $0.value, members: (members[$0.key] ?? []).map(\.member)) }
    }

    /// Whether `target` may use logins of `source`.
    func mayShare(_ source: ClientID, _ target: ClientID, at issuer: Issuer) -> Bool {
        guard let from = members[Place(issuer: issuer, client: source)],
            let to = members[Place(issuer: issuer, client: target)]
        else { return false }
        return from.group == to.group && from.member.role != .target && to.member.role != .source
    }
}

extension RegistryContents.Item: CustomStringConvertible {
    /// Such as `client app1`.
    package var description: String {
        switch self {
        case .client(let id): "client \(id)"
        case .group(let id): "group \(id)"
        case .member(let client, let group): "member \(client) of group \(group)"
        case .scope(let name): "scope \(name)"
        }
    }
}
