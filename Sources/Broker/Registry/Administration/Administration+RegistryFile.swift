package import NativeSSO
import PostgresClient

/// One change that a registry file makes. It is the same change as that of the command of this name.
package enum RegistryChange: Sendable {
    case putScope(RegisteredScope)
    case addClient(Client)
    case updateClient(Client)
    case addGroup(GroupID, Issuer)
    case removeMember(ClientID, GroupID)
    case putMember(SharingGroup.Member, GroupID)
    case removeGroup(GroupID)
    case removeClient(ClientID)
    case removeScope(String)
}

extension Administration {
    /// Makes all changes in one transaction, or none.
    ///
    /// - Parameters:
    ///   - changes: In an order in which each is possible.
    ///   - managed: The items that the file manages from now on.
    ///   - file: The name of the file.
    ///   - serial: The serial number of ``RegistryContents`` that the changes were made from. Throws `refused` if the
    ///     registry has another one.
    package func apply(
        _ changes: [RegistryChange], managing managed: [RegistryContents.Item], file: String, at serial: Int64,
        _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        let current: Int64
        do throws(PostgresError) {
            current = try await pool.withTransaction(deadline: Self.longDeadline) { transaction throws(PostgresError) in
                let current = try transaction.query(RegistryFileStatements.lockSerial).first?.int64(0) ?? 0
                guard current == serial else { return current }
                var events: [(kind: AuditKind, details: [(String, String)])] = []
                for change in changes { events.append(try change.run(in: transaction)) }
                try Self.manage(managed, file, in: transaction)
                events.append((.registryApplied, [("file", file), ("changes", String(changes.count))]))
                _ = try transaction.query(AdministrativeAct.record, act.parameters(events))
                return current
            }
        } catch {
            throw AdministrationError(changing: error)
        }
        guard current == serial else { throw .changedSince(plan: serial, current: current) }
    }

    private static func manage(
        _ items: [RegistryContents.Item], _ file: String, in transaction: borrowing Transaction
    ) throws(PostgresError) {
        guard !items.isEmpty else { return }
        var (clients, groups, scopes): ([String], [String], [String]) = ([], [], [])
        var (members, places): ([String], [String]) = ([], [])
        for item in items {
            switch item {
            case .client(let id): clients.append(id.string)
            case .group(let id): groups.append(id.string)
            case .scope(let name): scopes.append(name)
            case .member(let client, let group):
                members.append(client.string)
                places.append(group.string)
            }
        }
        _ = try transaction.query(RegistryFileStatements.manageClients, [.text(file), .textArray(clients)])
        _ = try transaction.query(RegistryFileStatements.manageGroups, [.text(file), .textArray(groups)])
        _ = try transaction.query(
            RegistryFileStatements.manageMembers, [.text(file), .textArray(members), .textArray(places)])
        _ = try transaction.query(RegistryFileStatements.manageScopes, [.text(file), .textArray(scopes)])
    }
}

extension AdministrationError {
    static func changedSince(plan: Int64, current: Int64) -> AdministrationError {
        .refused(
            "it has changed since the plan: its serial number is \(current), the plan was made at \(plan); look at a new "
                + "plan first")
    }
}

extension RegistryChange {
    /// - Returns: The audit event.
    fileprivate func run(
        in transaction: borrowing Transaction
    ) throws(PostgresError) -> (kind: AuditKind, details: [(String, String)]) {
        switch self {
        case .putScope(let scope):
            try run(Administration.setting(of: scope.name, requiresConsent: scope.requiresConsent), in: transaction)
        case .addClient(let client): try run(Administration.addition(of: client), in: transaction)
        case .updateClient(let client): try run(Administration.update(of: client), in: transaction)
        case .addGroup(let group, let issuer): try run(Administration.addition(of: group, issuer), in: transaction)
        case .removeMember(let client, let group):
            try run(Administration.removal(of: client, from: group), in: transaction)
        case .putMember(let member, let group):
            try run(
                Administration.membership(
                    of: member.client, member.role,
                    SharingGroup.MemberChange(
                        ceiling: .init(member.scopeCeiling), handoff: .init(member.handoff),
                        handoffOrigins: .set(member.handoffOrigins)), in: group), in: transaction)
        case .removeGroup(let group): try run(Administration.removal(of: group), in: transaction)
        case .removeClient(let client): try run(Administration.removal(of: client), in: transaction)
        case .removeScope(let name): try run(Administration.removal(ofScope: name), in: transaction)
        }
    }

    /// The serial number was right and is locked, so a change that finds no row is a defect. The error rolls back.
    private func run<Value>(
        _ change: Change<Value>, in transaction: borrowing Transaction
    ) throws(PostgresError) -> (kind: AuditKind, details: [(String, String)]) {
        guard let details = try change.run(in: transaction)?.details else {
            throw .server(SQLState("P0002"), message: "\(change.missing)", constraint: nil)
        }
        return (change.kind, details)
    }
}
