package import NativeSSO
import PostgresClient

/// The clients that may share logins of one issuer.
package struct SharingGroup: Sendable, Hashable {
    package struct Member: Sendable, Hashable {
        package let client: ClientID
        package let role: Membership.Role
        package let scopeCeiling: Scope?
        package var handoff: Membership.Handoff?
        package var handoffOrigins: [WebOrigin] = []
    }

    /// A change to a setting of a member.
    package enum SettingChange<Value: Sendable & Hashable>: Sendable, Hashable {
        /// No change; a new member has none.
        case keep
        case remove
        case set(Value)

        /// What a registry file or a member has.
        package init(_ value: Value?) { self = value.map { .set($0) } ?? .remove }

        fileprivate func value(replacing old: Value?) -> Value? {
            switch self {
            case .keep: old
            case .remove: nil
            case .set(let value): value
            }
        }

        fileprivate func parameter(_ encode: (Value) -> PostgresValue) -> PostgresValue {
            if case .set(let value) = self { encode(value) } else { .null }
        }
    }

    /// The changes to the settings of a member beside its role.
    package struct MemberChange: Sendable, Hashable {
        package var ceiling: SettingChange<Scope>
        package var handoff: SettingChange<Membership.Handoff>
        package var handoffOrigins: SettingChange<[WebOrigin]>

        package init(
            ceiling: SettingChange<Scope> = .keep, handoff: SettingChange<Membership.Handoff> = .keep,
            handoffOrigins: SettingChange<[WebOrigin]> = .keep
        ) {
            self.ceiling = ceiling
            self.handoff = handoff
            self.handoffOrigins = handoffOrigins
        }

        /// What the change makes of a member.
        /// - Parameter old: The member as it is; `nil`: the client is no member.
        package func member(_ client: ClientID, _ role: Membership.Role, replacing old: Member?) -> Member {
            Member(
                client: client, role: role, scopeCeiling: ceiling.value(replacing: old?.scopeCeiling),
                handoff: handoff.value(replacing: old?.handoff),
                handoffOrigins: handoffOrigins.value(replacing: old?.handoffOrigins) ?? [])
        }
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
            scopeCeiling: try row.optionalTextArray(3).map { Scope($0) },
            handoff: try row.optionalText(4).map { try Membership.Handoff($0, "handoff") },
            handoffOrigins: try row.textArray(5).map { try row.origin($0, "handoff_origins") })
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

    /// Adds a member, or changes its role and settings.
    /// - Returns: The member after the change.
    @discardableResult
    package func putMember(
        _ client: ClientID, _ role: Membership.Role, _ settings: SharingGroup.MemberChange = .init(),
        in group: GroupID, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> SharingGroup.Member {
        try await change(Self.membership(of: client, role, settings, in: group), act)
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
        of client: ClientID, _ role: Membership.Role, _ settings: SharingGroup.MemberChange, in group: GroupID
    ) -> Change<SharingGroup.Member> {
        Change(
            upsertMember,
            [
                .text(group.string), .text(client.string), .text(role.rawValue),
                settings.ceiling.parameter { .textArray($0.tokens) }, .bool(settings.ceiling == .keep),
                settings.handoff.parameter { .text($0.rawValue) }, .bool(settings.handoff == .keep),
                settings.handoffOrigins.parameter { .textArray($0.map(\.string)) },
                .bool(settings.handoffOrigins == .keep),
            ],
            as: .groupMemberSet,
            details: { member in
                [
                    ("group_id", group.string), ("client_id", client.string), ("role", role.rawValue),
                    ("scope_ceiling", member.scopeCeiling?.description ?? "none"),
                    ("handoff", member.handoff?.rawValue ?? "none"),
                    ("handoff_origins", member.handoffOrigins.map(\.string).joined(separator: " ")),
                ]
            }, orElse: .notFound("group \(group)"),
            violating: [
                "sharing_group_member_client_id_fkey": .notFound("client \(client)"),
                "sharing_group_member_issuer_client_id_key": .refused(
                    "client \(client) is in another group of the same identity provider; remove it there first"),
            ]
        ) { row throws(PostgresError) in
            try replaced { try member(row).member }
        }
    }

    static func removal(of client: ClientID, from group: GroupID) -> Change<Void> {
        Change(
            deleteMember, [.text(group.string), .text(client.string)], as: .groupMemberRemoved,
            details: [("group_id", group.string), ("client_id", client.string)],
            orElse: .notFound("client \(client) in group \(group)"))
    }

    static let selectGroups = Statement("SELECT group_id::text, issuer FROM native_sso.sharing_group ORDER BY group_id")
    static let selectMembers = Statement(
        """
        SELECT group_id::text, client_id::text, role, scope_ceiling::text[], handoff, handoff_origins
        FROM native_sso.sharing_group_member ORDER BY group_id, client_id
        """)
    private static let insertGroup = Statement(
        """
        INSERT INTO native_sso.sharing_group (group_id, issuer) VALUES ($1, $2)
        ON CONFLICT (group_id) DO NOTHING RETURNING 1
        """)
    private static let deleteGroup = Statement("DELETE FROM native_sso.sharing_group WHERE group_id = $1 RETURNING 1")
    /// $5, $7, $9: keep the setting of an existing member.
    private static let upsertMember = Statement(
        """
        INSERT INTO native_sso.sharing_group_member AS member (
            group_id, issuer, client_id, role, scope_ceiling, handoff, handoff_origins)
        SELECT group_id, issuer, $2, $3, $4, $6, coalesce($8::text[], '{}') FROM native_sso.sharing_group WHERE group_id = $1
        ON CONFLICT (group_id, client_id) DO UPDATE SET role = excluded.role,
            scope_ceiling = CASE WHEN $5 THEN member.scope_ceiling ELSE excluded.scope_ceiling END,
            handoff = CASE WHEN $7 THEN member.handoff ELSE excluded.handoff END,
            handoff_origins = CASE WHEN $9 THEN member.handoff_origins ELSE excluded.handoff_origins END
        RETURNING member.group_id::text, member.client_id::text, member.role, member.scope_ceiling::text[],
            member.handoff, member.handoff_origins
        """)
    private static let deleteMember = Statement(
        "DELETE FROM native_sso.sharing_group_member WHERE group_id = $1 AND client_id = $2 RETURNING 1")
}
