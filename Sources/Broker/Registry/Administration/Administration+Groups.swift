package import NativeSSO
import PostgresClient

/// The clients that may share logins of one issuer.
package struct SharingGroup: Sendable, Hashable {
    package struct Member: Sendable, Hashable {
        package let client: ClientID
        package let role: Membership.Role
        package let scopeCeiling: Scope?
    }

    /// A change to a member's scope ceiling.
    package enum CeilingChange: Sendable, Hashable {
        /// No change; a new member has no ceiling.
        case keep
        case remove
        case set(Scope)
    }

    package let id: GroupID
    package let issuer: Issuer
    package let members: [Member]
}

extension Administration {
    /// All groups with their members, sorted by identifier.
    package func groups() async throws(AdministrationError) -> [SharingGroup] {
        let groups = try await rows(Self.selectGroups) { row in
            (
                id: try row.identifier(try row.text(0), "group_id") as GroupID,
                issuer: try row.identifier(try row.text(1), "issuer") as Issuer
            )
        }
        let members = try await rows(Self.selectMembers) { row in
            let member = SharingGroup.Member(
                client: try row.identifier(try row.text(1), "client_id"),
                role: try Membership.Role(try row.text(2), "role"),
                scopeCeiling: try row.optionalTextArray(3).map { Scope($0) })
            return (group: try row.text(0), member: member)
        }
        let byGroup = Dictionary(grouping: members, by: \.group)
        return groups.map { group in
            SharingGroup(
                id: group.id, issuer: group.issuer, members: (byGroup[group.id.string] ?? []).map(\.member))
        }
    }

    /// Adds a group without members. Its issuer is permanent.
    package func addGroup(
        _ id: GroupID, issuer: Issuer, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.insertGroup, [.text(id.string), .text(issuer.string)], as: .groupAdded, act,
            details: [("group_id", id.string), ("issuer", issuer.string)], orElse: .alreadyExists("group \(id)"))
    }

    /// Removes the group and its memberships. Its members can no longer share logins.
    package func removeGroup(_ id: GroupID, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(
            Self.deleteGroup, [.text(id.string)], as: .groupRemoved, act, details: [("group_id", id.string)],
            orElse: .notFound("group \(id)"))
    }

    /// Adds a member, or changes its role and ceiling.
    /// - Returns: The member after the change.
    @discardableResult
    package func putMember(
        _ client: ClientID, _ role: Membership.Role, ceiling: SharingGroup.CeilingChange, in group: GroupID,
        _ act: AdministrativeAct
    ) async throws(AdministrationError) -> SharingGroup.Member {
        let given: PostgresValue = if case .set(let scope) = ceiling { .textArray(scope.tokens) } else { .null }
        return try await change(
            Self.upsertMember,
            [.text(group.string), .text(client.string), .text(role.rawValue), given, .bool(ceiling == .keep)],
            as: .groupMemberSet, act,
            details: { member in
                [
                    ("group_id", group.string), ("client_id", client.string), ("role", role.rawValue),
                    ("scope_ceiling", member.scopeCeiling?.description ?? "none"),
                ]
            }, orElse: .notFound("group \(group)"),
            violating: ["sharing_group_member_client_id_fkey": .notFound("client \(client)")]
        ) { row throws(PostgresError) in
            SharingGroup.Member(
                client: client, role: role, scopeCeiling: try row.optionalTextArray(0).map { Scope($0) })
        }
    }

    /// Removes a client from the group. From the commit on, it can neither exchange the group's logins nor refresh
    /// grants from them (`sharing_ended`). Its grants are kept: they work again if the client returns before they
    /// expire.
    package func removeMember(
        _ client: ClientID, from group: GroupID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.deleteMember, [.text(group.string), .text(client.string)], as: .groupMemberRemoved, act,
            details: [("group_id", group.string), ("client_id", client.string)],
            orElse: .notFound("client \(client) in group \(group)"))
    }

    static let groupStatements = [
        selectGroups, selectMembers, insertGroup, deleteGroup, upsertMember, deleteMember,
    ]

    private static let selectGroups = Statement(
        "SELECT group_id::text, issuer FROM native_sso.sharing_group ORDER BY group_id")
    private static let selectMembers = Statement(
        """
        SELECT group_id::text, client_id::text, role, scope_ceiling::text[]
        FROM native_sso.sharing_group_member ORDER BY group_id, client_id
        """)
    private static let insertGroup = Statement(
        """
        INSERT INTO native_sso.sharing_group (group_id, issuer) VALUES ($1, $2)
        ON CONFLICT (group_id) DO NOTHING RETURNING 1
        """)
    private static let deleteGroup = Statement("DELETE FROM native_sso.sharing_group WHERE group_id = $1 RETURNING 1")
    /// $5: keep the ceiling of an existing member.
    private static let upsertMember = Statement(
        """
        INSERT INTO native_sso.sharing_group_member AS member (group_id, issuer, client_id, role, scope_ceiling)
        SELECT group_id, issuer, $2, $3, $4 FROM native_sso.sharing_group WHERE group_id = $1
        ON CONFLICT (group_id, client_id) DO UPDATE SET role = excluded.role,
            scope_ceiling = CASE WHEN $5 THEN member.scope_ceiling ELSE excluded.scope_ceiling END
        RETURNING member.scope_ceiling::text[]
        """)
    private static let deleteMember = Statement(
        "DELETE FROM native_sso.sharing_group_member WHERE group_id = $1 AND client_id = $2 RETURNING 1")
}
