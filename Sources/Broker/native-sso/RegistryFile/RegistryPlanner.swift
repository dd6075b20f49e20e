import NativeSSO
import Registry

/// Compares a registry file with the registry. Reports to the problems of the file.
struct RegistryPlanner {
    private let file: RegistryFile
    private let contents: RegistryContents
    private let permissions: RegistryPlan.Permissions
    private let algorithms: Set<KeyAlgorithm>
    private let before: RegistryState
    private var after: RegistryState
    private var steps: [RegistryPlan.Step] = []
    private var declared: [(item: RegistryContents.Item, place: Place)] = []

    /// - Parameter algorithms: Those of the active keys.
    init(
        _ file: RegistryFile, _ contents: RegistryContents, _ permissions: RegistryPlan.Permissions,
        algorithms: Set<KeyAlgorithm>
    ) {
        self.file = file
        self.contents = contents
        self.permissions = permissions
        self.algorithms = algorithms
        before = RegistryState(contents)
        after = before
    }

    /// - Throws: Every rule that the file breaks.
    mutating func plan() throws(ConfigurationError) -> RegistryPlan {
        for client in file.clients { plan(client) }
        for group in file.groups { plan(group) }
        for group in file.groups { for member in group.members { plan(member, in: group) } }
        for scope in file.scopes { plan(scope) }
        for (item, place) in declared { refuseIfManaged(item, place) }
        let stale = staleItems()
        if permissions.prune { prune(stale) }
        refuseLostMembers()
        try file.check()
        return RegistryPlan(
            file: file.name, before: before, after: after, serial: contents.serial, steps: steps,
            adopted: declared.map(\.item).filter { contents.managers[$0] != file.name },
            stale: permissions.prune ? [] : stale)
    }

    // MARK: What the file has

    private mutating func plan(_ declared: DeclaredClient) {
        self.declared.append((.client(declared.id), declared.place))
        let old = before.clients[declared.id]
        let new = declared.client(old, algorithms: algorithms)
        after.clients[new.id] = new
        guard new != old else { return }
        let settings = RegistryPlan.Step.difference(old.map { Record($0) }, Record(new))
        steps.append(
            RegistryPlan.Step(
                old == nil ? .add : .update, "client \(new.id)", settings, client: old.map(\.id),
                old == nil ? .addClient(new) : .updateClient(new)))
    }

    private mutating func plan(_ group: RegistryFile.DeclaredGroup) {
        declared.append((.group(group.id), group.place))
        if let issuer = before.groups[group.id] {
            if issuer != group.issuer {
                file.problems.report(
                    group.place,
                    "has the issuer \(issuer), which cannot change: restore it, or give the group another name")
            }
            return
        }
        after.groups[group.id] = group.issuer
        steps.append(
            RegistryPlan.Step(
                .add, "group \(group.id)", [("issuer", nil, .text(group.issuer.string))],
                .addGroup(group.id, group.issuer)))
    }

    private mutating func plan(_ declared: RegistryFile.DeclaredMember, in group: RegistryFile.DeclaredGroup) {
        let client = declared.client
        self.declared.append((.member(client, group.id), declared.place))
        guard after.clients[client] != nil else {
            file.problems.report(declared.place, "there is no client \(client); add it to clients, or correct the name")
            return
        }
        let place = RegistryState.Place(issuer: group.issuer, client: client)
        let old = before.members[place]
        let stays = old?.group == group.id
        let new = declared.settings.member(client, declared.role, replacing: stays ? old?.member : nil)
        after.members[place] = (group.id, new)
        guard !stays || old?.member != new else { return }
        let subject = "member \(client) of group \(group.id)"
        let settings = RegistryPlan.Step.difference(old.map { Record($0.member) }, Record(new))
        let change = RegistryChange.putMember(new, group.id)
        guard let old, !stays else {
            let action: RegistryPlan.Step.Action = old == nil ? .add : .update
            steps.append(RegistryPlan.Step(action, subject, settings, client: old?.member.client, change))
            return
        }
        refuseIfManaged(.member(client, old.group), declared.place)
        steps.append(
            RegistryPlan.Step(
                .move, subject,
                [(name: "group_id", before: .text(old.group.string), after: .text(group.id.string))] + settings,
                client: client, change, departure: .removeMember(client, old.group)))
    }

    private mutating func plan(_ declared: RegistryFile.DeclaredScope) {
        self.declared.append((.scope(declared.name), declared.place))
        let old = before.scopes[declared.name]
        let consent = declared.requiresConsent ?? old?.requiresConsent ?? false
        let new = RegisteredScope(name: declared.name, requiresConsent: consent)
        guard new != old else { return }
        after.scopes[new.name] = new
        steps.append(
            RegistryPlan.Step(
                old == nil ? .add : .update, "scope \(new.name)",
                [("requires_consent", old.map { .flag($0.requiresConsent) }, .flag(consent))], .putScope(new)))
    }

    // MARK: What it does not have

    private func refuseIfManaged(_ item: RegistryContents.Item, _ place: Place) {
        guard !permissions.takesOver, let manager = contents.managers[item], manager != file.name else { return }
        file.problems.report(
            place,
            "the registry file \(manager) manages the \(item); remove it here, or take it over with --take-over")
    }

    /// What the file once managed, is still registered, and is not in the file.
    private func staleItems() -> [RegistryContents.Item] {
        let kept = Set(declared.map(\.item))
        return contents.managers.filter { $0.value == file.name && !kept.contains($0.key) }.map(\.key).filter { item in
            // A member that moves is not stale.
            guard case .member(let client, let group) = item, let issuer = before.groups[group] else { return true }
            return after.members[RegistryState.Place(issuer: issuer, client: client)]?.group == group
        }.sorted { $0.description < $1.description }
    }

    private mutating func prune(_ stale: [RegistryContents.Item]) {
        for item in stale {
            let (client, change): (ClientID?, RegistryChange) =
                switch item {
                case .client(let id): (id, .removeClient(id))
                case .group(let id): (nil, .removeGroup(id))
                case .member(let client, let group): (client, .removeMember(client, group))
                case .scope(let name): (nil, .removeScope(name))
                }
            steps.append(RegistryPlan.Step(.remove, item.description, client: client, change))
            after.make(change)
        }
    }

    /// A client or group that goes takes its memberships with it, and the file must have managed each of them.
    private func refuseLostMembers() {
        for (place, old) in before.members where after.members[place] == nil {
            let item = RegistryContents.Item.member(place.client, old.group)
            guard contents.managers[item] != file.name else { continue }
            file.problems.report(
                .file,
                "--prune would remove the \(item), which this file never managed; remove it with: native-sso group "
                    + "member remove \(old.group) \(place.client)")
        }
        for member in file.groups.flatMap(\.members)
        where after.clients[member.client] == nil && before.clients[member.client] != nil {
            file.problems.report(
                member.place, "is no longer under clients, and --prune removes it; add it to clients, or remove it here"
            )
        }
    }
}
