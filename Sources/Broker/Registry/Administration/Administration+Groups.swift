package import NativeSSO
import PostgresClient

/// The clients that may share logins of one issuer.
package struct SharingGroup: Sendable, Hashable {
    package struct Member: Sendable, Hashable {
        package let client: ClientID
        package let role: Membership.Role
        package let scopeCeiling: Scope?

        package init(client: ClientID, role: Membership.Role, scopeCeiling: Scope?) {
            self.client = client
            self.role = role
            self.scopeCeiling = scopeCeiling
        }
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

    package init(id: GroupID, issuer: Issuer, members: [Member]) {
        self.id = id
        self.issuer = issuer
        self.members = members
    }
}

extension Administration {
    /// All groups with their members, sorted by identifier.
    package func groups() async throws(AdministrationError) -> [SharingGroup] {
        Self.groups(
            try await rows(Self.selectGroups, [], Self.group), try await rows(Self.selectMembers, [], Self.member))
    }

    static func groups(
        _ groups: [(id: GroupID, issuer: Issuer)], _ members: [(group: GroupID, member: SharingGroup.Member)]
    ) -> [SharingGroup] {
        let byGroup = Dictionary(grouping: members, by: \.group)
        return groups.map { group in
            SharingGroup(id: group.id, issuer: group.issuer, members: (byGroup[group.id] ?? []).map(\.member))
        }
    }

    static func group(_ row: Row) throws -> (id: GroupID, issuer: Issuer) {
        (try row.identifier(try row.text(0), "group_id"), try row.identifier(try row.text(1), "issuer"))
    }

    static func member(_ row: Row) throws -> (group: GroupID, member: SharingGroup.Member) {
        let member = SharingGroup.Member(
            client: try row.identifier(try row.text(1), "client_id"),
            role: try Membership.Role(try row.text(2), "role"),
            scopeCeiling: try row.optionalTextArray(3).map { Scope($0) })
        return (group: try row.identifier(try row.text(0), "group_id"), member: member)
    }

    /// Adds a group without members. Its issuer is permanent.
    package func addGroup(_ id: GroupID, issuer: Issuer, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.addition(of: id, issuer), act)
    }

    /// Removes the group and its memberships. Its members can no longer share logins.
    package func removeGroup(_ id: GroupID, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.removal(of: id), act)
    }

    /// Adds a member, or changes its role and ceiling.
    /// - Returns: The member after the change.
    @discardableResult
    package func putMember(
        _ client: ClientID, _ role: Membership.Role, ceiling: SharingGroup.CeilingChange, in group: GroupID,
        _ act: AdministrativeAct
    ) async throws(AdministrationError) -> SharingGroup.Member {
        try await change(Self.membership(of: client, role, ceiling: ceiling, in: group), act)
    }

    /// Removes a client from the group. From the commit on, it can neither exchange the group's logins nor refresh
    /// grants from them (`sharing_ended`). Its grants are kept: they work again if the client returns before they
    /// expire.
    package func removeMember(
        _ client: ClientID, from group: GroupID, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(Self.removal(of: client, from: group), act)
    }

    static func addition(of group: GroupID, _ issuer: Issuer) -> Change<Void> {
        Change(
            insertGroup, [.text(group.string), .text(issuer.string)], as: .groupAdded,
            details: [("group_id", group.string), ("issuer", issuer.string)], orElse: .alreadyExists("group \(group)"))
    }

    static func removal(of group: GroupID) -> Change<Void> {
        Change(
            deleteGroup, [.text(group.string)], as: .groupRemoved, details: [("group_id", group.string)],
            orElse: .notFound("group \(group)"))
    }

    static func membership(
        of client: ClientID, _ role: Membership.Role, ceiling: SharingGroup.CeilingChange, in group: GroupID
    ) -> Change<SharingGroup.Member> {
        let given: PostgresValue = if case .set(let scope) = ceiling { .textArray(scope.tokens) } else { .null }
        return Change(
            upsertMember,
            [.text(group.string), .text(client.string), .text(role.rawValue), given, .bool(ceiling == .keep)],
            as: .groupMemberSet,
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

    static func removal(of client: ClientID, from group: GroupID) -> Change<Void> {
        Change(
            deleteMember, [.text(group.string), .text(client.string)], as: .groupMemberRemoved,
            details: [("group_id", group.string), ("client_id", client.string)],
            orElse: .notFound("client \(client) in group \(group)"))
    }

    static let groupStatements = [selectGroups, selectMembers, insertGroup, deleteGroup, upsertMember, deleteMember]

    static let selectGroups = Statement("SELECT group_id::text, issuer FROM native_sso.sharing_group ORDER BY group_id")
    static let selectMembers = Statement(
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
