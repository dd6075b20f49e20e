package import NativeSSO
import PostgresClient

/// What a registry file describes, at one moment.
package struct RegistryContents: Sendable {
    /// A client, group, member or scope.
    package enum Item: Hashable, Sendable {
        case client(ClientID)
        case group(GroupID)
        case member(ClientID, GroupID)
        case scope(String)
    }

    /// Grows with each change.
    package let serial: Int64
    /// Sorted by identifier.
    package let clients: [Client]
    package let groups: [SharingGroup]
    package let scopes: [RegisteredScope]
    /// The registry file that manages an item. Other items are managed by commands.
    package let managers: [Item: String]
}

/// Live grants by client, source client and issuer.
package struct LiveGrants: Sendable, Hashable {
    package let client: ClientID
    /// The client that logged in.
    package let source: ClientID
    package let issuer: Issuer
    package let count: Int64
}

/// Live grants and the users who have them.
package struct LiveCount: Sendable, Hashable {
    package let grants: Int64
    package let users: Int64
}

extension Administration {
    /// Reads everything at one serial number.
    package func registryContents() async throws(AdministrationError) -> RegistryContents {
        typealias Tables = (
            serial: [Row], clients: [Row], groups: [Row], members: [Row], scopes: [Row], managers: [Row]
        )
        let tables = try await Self.database { () async throws(PostgresError) in
            try await pool.withTransaction(deadline: Self.longDeadline) { transaction throws(PostgresError) -> Tables in
                // Waits for a change under way, and holds up the next one until all is read.
                let serial = try transaction.query(RegistryFileStatements.lockSerial)
                return (
                    serial, try transaction.query(ClientStatements.all), try transaction.query(Self.selectGroups),
                    try transaction.query(Self.selectMembers), try transaction.query(Self.selectScopes),
                    try transaction.query(RegistryFileStatements.managers)
                )
            }
        }
        do {
            guard let serial = try tables.serial.first?.int64(0) else { throw CorruptRow(column: "serial") }
            return RegistryContents(
                serial: serial, clients: try tables.clients.map(ClientStatements.client),
                groups: Self.groups(try tables.groups.map(Self.group), try tables.members.map(Self.member)),
                scopes: try tables.scopes.map(Self.scope),
                managers: Dictionary(
                    try tables.managers.map(RegistryFileStatements.manager), uniquingKeysWith: { first, _ in first }))
        } catch {
            throw AdministrationError(decoding: error)
        }
    }

    /// The live grants that clients have, or have from logins of each other. Reads every grant.
    package func liveGrants(of clients: some Collection<ClientID>) async throws(AdministrationError) -> [LiveGrants] {
        try await rows(RegistryFileStatements.liveGrants, [.textArray(clients.map(\.string))]) { row in
            LiveGrants(
                client: try row.identifier(try row.text(0), "client_id"),
                source: try row.identifier(try row.text(1), "source_client_id"),
                issuer: try row.identifier(try row.text(2), "idp_issuer"), count: try row.int64(3))
        }
    }

    /// The users of live grants. Reads every grant.
    package func users(of grants: [LiveGrants]) async throws(AdministrationError) -> Int64 {
        let counts = try await rows(
            RegistryFileStatements.users,
            [
                .textArray(grants.map(\.client.string)), .textArray(grants.map(\.source.string)),
                .textArray(grants.map(\.issuer.string)),
            ]
        ) { try $0.int64(0) }
        return counts.first ?? 0
    }

    /// Counts live grants and their users. Reads every grant.
    /// - Parameters:
    ///   - scope: Only grants that have it.
    ///   - issuer: Only grants of logins at this IdP.
    ///   - since: Only grants of sessions that began then or later.
    package func liveCount(
        client: ClientID? = nil, scope: String? = nil, issuer: Issuer? = nil, since: UnixTime? = nil
    ) async throws(AdministrationError) -> LiveCount {
        let counts = try await rows(
            RegistryFileStatements.liveCount,
            [
                .optionalText(client?.string), .optionalText(scope), .optionalText(issuer?.string),
                .optionalInt64(since?.seconds),
            ]
        ) { LiveCount(grants: try $0.int64(0), users: try $0.int64(1)) }
        return counts.first ?? LiveCount(grants: 0, users: 0)
    }

    /// For a transaction over the whole registry.
    static let longDeadline: Duration = .seconds(300)
}

enum RegistryFileStatements {
    static let lockSerial = Statement("SELECT serial FROM native_sso.registry_serial FOR UPDATE")

    static let managers = Statement(
        """
        SELECT 'client', client_id::text, '', managed_by::text FROM native_sso.client WHERE managed_by IS NOT NULL
        UNION ALL SELECT 'group', group_id::text, '', managed_by::text FROM native_sso.sharing_group
        WHERE managed_by IS NOT NULL
        UNION ALL SELECT 'member', client_id::text, group_id::text, managed_by::text
        FROM native_sso.sharing_group_member WHERE managed_by IS NOT NULL
        UNION ALL SELECT 'scope', name::text, '', managed_by::text FROM native_sso.scope WHERE managed_by IS NOT NULL
        """)

    /// $1 clients.
    static let liveGrants = Statement(
        """
        SELECT g.client_id::text, g.source_client_id::text, s.idp_issuer::text, count(*)
        FROM native_sso.sso_grant g JOIN native_sso.session_state s USING (session_id)
        WHERE g.revoked_at IS NULL AND g.expires_at > now() AND s.ended_at IS NULL AND s.expires_at > now()
            AND (g.client_id = ANY ($1) OR g.source_client_id = ANY ($1))
        GROUP BY 1, 2, 3
        """)

    /// $1 clients, $2 source clients and $3 issuers, which belong together.
    static let users = Statement(
        """
        SELECT count(DISTINCT (s.idp_issuer, s.subject))
        FROM native_sso.sso_grant g JOIN native_sso.session_state s USING (session_id)
        WHERE g.revoked_at IS NULL AND g.expires_at > now() AND s.ended_at IS NULL AND s.expires_at > now()
            AND (g.client_id, g.source_client_id, s.idp_issuer) IN (
                SELECT client, source, issuer FROM unnest($1::text[], $2::text[], $3::text[]) AS t (client, source, issuer))
        """)

    /// $1 client, $2 scope, $3 issuer, $4 seconds since 1970; NULL: all.
    static let liveCount = Statement(
        """
        SELECT count(*), count(DISTINCT (s.idp_issuer, s.subject))
        FROM native_sso.sso_grant g JOIN native_sso.session_state s USING (session_id)
        WHERE g.revoked_at IS NULL AND g.expires_at > now() AND s.ended_at IS NULL AND s.expires_at > now()
            AND ($1::text IS NULL OR g.client_id = $1) AND ($2::text IS NULL OR $2 = ANY (g.scope::text[]))
            AND ($3::text IS NULL OR s.idp_issuer = $3) AND ($4::bigint IS NULL OR s.created_at >= to_timestamp($4))
        """)

    // $1 file; then the items.
    static let manageClients = Statement("UPDATE native_sso.client SET managed_by = $1 WHERE client_id = ANY ($2)")
    static let manageGroups = Statement("UPDATE native_sso.sharing_group SET managed_by = $1 WHERE group_id = ANY ($2)")
    static let manageMembers = Statement(
        """
        UPDATE native_sso.sharing_group_member AS m SET managed_by = $1
        FROM unnest($2::text[], $3::text[]) AS item (client_id, group_id)
        WHERE m.client_id = item.client_id AND m.group_id = item.group_id
        """)
    static let manageScopes = Statement("UPDATE native_sso.scope SET managed_by = $1 WHERE name = ANY ($2)")

    static func manager(_ row: Row) throws -> (RegistryContents.Item, String) {
        let item: RegistryContents.Item =
            switch try row.text(0) {
            case "client": .client(try row.identifier(try row.text(1), "client_id"))
            case "group": .group(try row.identifier(try row.text(1), "group_id"))
            case "member":
                .member(
                    try row.identifier(try row.text(1), "client_id"), try row.identifier(try row.text(2), "group_id"))
            default: .scope(try row.text(1))
            }
        return (item, try row.text(3))
    }
}
