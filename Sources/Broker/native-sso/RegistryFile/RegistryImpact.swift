import NativeSSO
import Registry

/// What a plan does to the grants that are live now. A command that changes one thing is a plan of one step.
struct RegistryImpact: Sendable {
    /// By client: its grants that end, those refused because it is disabled, and all it has.
    private var ended: [ClientID: Int64] = [:]
    private var disabled: [ClientID: Int64] = [:]
    private var live: [ClientID: Int64] = [:]
    /// By the client that uses a login and by the one that logged in: grants of logins that they no longer share.
    private var unshared: [ClientID: Int64] = [:]
    /// By the group that is removed: grants of logins that its members shared.
    private var dissolved: [GroupID: Int64] = [:]
    /// By scope that needs consent from now on: the grants that have it.
    private var scopes: [String: LiveCount] = [:]
    private(set) var endedInAll: Int64 = 0
    private(set) var refusedInAll: Int64 = 0
    /// Grants that go on under changed settings.
    private(set) var changedInAll: Int64 = 0
    /// The users of all these grants.
    private(set) var users: Int64 = 0

    /// Counts only if a step may touch grants: it reads every grant.
    static func of(_ plan: RegistryPlan, in registry: Administration) async throws(AdministrationError)
        -> RegistryImpact
    {
        var impact = RegistryImpact()
        let clients = plan.touchedClients
        if !clients.isEmpty {
            let touched = impact.count(try await registry.liveGrants(of: clients), plan)
            if !touched.isEmpty { impact.users = try await registry.users(of: touched) }
        }
        for case .putScope(let scope) in plan.steps.map(\.change)
        where scope.requiresConsent && plan.before.scopes[scope.name]?.requiresConsent != true {
            impact.scopes[scope.name] = try await registry.liveCount(scope: scope.name)
        }
        return impact
    }

    var touchesNoGrant: Bool {
        endedInAll + refusedInAll + changedInAll == 0 && scopes.values.allSatisfy { $0.grants == 0 }
    }

    /// - Returns: The grants that the plan touches.
    private mutating func count(_ grants: [LiveGrants], _ plan: RegistryPlan) -> [LiveGrants] {
        grants.filter { grant in
            live[grant.client, default: 0] += grant.count
            let (old, new) = (plan.before.clients[grant.client], plan.after.clients[grant.client])
            if old != nil, new == nil {
                ended[grant.client, default: 0] += grant.count
                endedInAll += grant.count
            } else if old?.isEnabled == true, new?.isEnabled == false {
                disabled[grant.client, default: 0] += grant.count
                refusedInAll += grant.count
            } else if grant.source != grant.client,
                plan.before.mayShare(grant.source, grant.client, at: grant.issuer),
                !plan.after.mayShare(grant.source, grant.client, at: grant.issuer)
            {
                unshared[grant.client, default: 0] += grant.count
                unshared[grant.source, default: 0] += grant.count
                let place = RegistryState.Place(issuer: grant.issuer, client: grant.client)
                if let group = plan.before.members[place]?.group, plan.after.groups[group] == nil {
                    dissolved[group, default: 0] += grant.count
                }
                refusedInAll += grant.count
            } else if old != new {
                changedInAll += grant.count
            } else {
                return false
            }
            return true
        }
    }

    /// Sentences about one step.
    func effects(of step: RegistryPlan.Step) -> [String] {
        let client = step.client
        func line(_ counts: [ClientID: Int64], _ end: (Int64) -> String) -> [String] {
            guard let count = client.flatMap({ counts[$0] }), count > 0 else { return [] }
            return ["\(Self.grants(count)) \(end(count))"]
        }
        func refused(_ count: Int64) -> String { "\(count == 1 ? "is" : "are") refused from the next refresh on" }
        switch step.change {
        case .removeClient: return line(ended) { $0 == 1 ? "ends" : "end" } + line(unshared, refused)
        case .updateClient:
            let off = line(disabled) { "\($0 == 1 ? "is" : "are") refused until the client is enabled again" }
            return off.isEmpty ? line(live) { "\($0 == 1 ? "follows" : "follow") from the next refresh on" } : off
        case .putMember, .removeMember: return line(unshared, refused)
        case .putScope(let scope) where scope.requiresConsent:
            guard let count = scopes[scope.name], count.grants > 0 else {
                return ["no exchange grants it any more; grants that have it keep it"]
            }
            return [
                "no exchange grants it any more; \(count.words) that \(count.grants == 1 ? "has it keeps" : "have it keep") it"
            ]
        case .putScope, .removeScope: return ["an exchange may grant it without consent"]
        case .removeGroup(let group):
            guard let count = dissolved[group] else { return [] }
            return ["\(Self.grants(count)) \(refused(count))"]
        case .addClient, .addGroup: return []
        }
    }

    /// A sentence about all steps; `nil`: no grant is touched.
    var total: String? {
        let whose = "of \(users.counted("user"))"
        if endedInAll + refusedInAll > 0 {
            return "in all: \(Self.grants(endedInAll)) to end, \(Self.grants(refusedInAll)) to be refused, \(whose)"
        }
        return changedInAll > 0 ? "in all: \(Self.grants(changedInAll)) \(whose)" : nil
    }

    /// Such as `1,204 live grants`.
    static func grants(_ count: Int64) -> String { count.counted("live grant") }
}

extension LiveCount {
    /// Such as `1,204 live grants of 900 users`.
    var words: String {
        "\(RegistryImpact.grants(grants)) of \(users.counted("user"))"
    }
}

extension RegistryPlan {
    /// The plan of a command that makes one change.
    init(_ step: Step, on contents: RegistryContents) {
        let before = RegistryState(contents)
        var after = before
        after.make(step.change)
        self.init(
            file: "", before: before, after: after, serial: contents.serial, steps: [step], adopted: [], stale: [])
    }

    /// The clients whose grants a step may touch.
    fileprivate var touchedClients: Set<ClientID> {
        var clients = Set(steps.compactMap(\.client))
        for case .removeGroup(let group) in steps.map(\.change) {
            clients.formUnion(before.members.filter { $0.value.group == group }.map(\.key.client))
        }
        return clients
    }
}

extension RegistryState {
    mutating func make(_ change: RegistryChange) {
        switch change {
        case .putScope(let scope): scopes[scope.name] = scope
        case .removeScope(let name): scopes[name] = nil
        case .addClient(let client), .updateClient(let client): clients[client.id] = client
        case .removeClient(let id):
            clients[id] = nil
            members = members.filter { $0.key.client != id }
        case .addGroup(let group, let issuer): groups[group] = issuer
        case .removeGroup(let group):
            groups[group] = nil
            members = members.filter { $0.value.group != group }
        case .putMember(let member, let group):
            guard let issuer = groups[group] else { return }
            members[Place(issuer: issuer, client: member.client)] = (group, member)
        case .removeMember(let client, let group):
            members = members.filter { $0.key.client != client || $0.value.group != group }
        }
    }
}

extension Plan {
    /// The plan of a command that makes one change to the registry.
    init(_ action: String, _ step: RegistryPlan.Step, _ impact: RegistryImpact, further: [String] = []) {
        self.init(
            action,
            consequences: step.changes + further + impact.effects(of: step) + (impact.total.map { [$0] } ?? []))
    }
}
