/// An app in the registry, written straight into its tables: what a test needs of it and nothing else.
package struct ClientRow: Sendable {
    package var id: String
    package var isEnabled = true
    /// How it proves who it is; it gets what it does that with by command.
    package var authentication = "none"
    package var grants = ["urn:ietf:params:oauth:grant-type:token-exchange", "refresh_token"]
    package var allowedScope: [String] = []
    package var defaultScope: [String] = []
    package var acceptedACR: [String] = []
    package var maximumAuthenticationSeconds: Int?
    package var dpop = "off"
    package var issuesIDToken = false
    /// Group, role, ceiling and hand-off.
    package var membership: Membership?

    package struct Membership: Sendable {
        package var group: String
        package var issuer: String
        package var role: String
        package var ceiling: [String]?
        /// `bearer` or `dpop`; `nil`: it hands nothing off.
        package var handoff: String?
        package var handoffOrigins: [String] = []

        package init(group: String, issuer: String, role: String = "both", ceiling: [String]? = nil) {
            self.group = group
            self.issuer = issuer
            self.role = role
            self.ceiling = ceiling
        }
    }

    package init(_ id: String, membership: Membership? = nil, _ change: (inout ClientRow) -> Void = { _ in }) {
        self.id = id
        self.membership = membership
        change(&self)
    }

    /// The statements that bring it in.
    package var sql: [String] {
        var statements = [
            """
            INSERT INTO native_sso.client (
                client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences,
                issues_refresh_token, issues_id_token, allows_self_exchange, dpop, accepted_acr,
                maximum_authentication_seconds)
            VALUES (
                '\(id)', '\(authentication)', \(isEnabled),
                \(Self.array(grants)), \(Self.array(allowedScope)), \(Self.array(defaultScope)),
                ARRAY['https://api.example.test'], true, \(issuesIDToken), false, '\(dpop)',
                \(Self.array(acceptedACR)),
                \(maximumAuthenticationSeconds.map(String.init) ?? "NULL"))
            """
        ]
        if let membership {
            statements += [
                """
                INSERT INTO native_sso.sharing_group (group_id, issuer)
                VALUES ('\(membership.group)', '\(membership.issuer)') ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO native_sso.sharing_group_member (
                    group_id, issuer, client_id, role, scope_ceiling, handoff, handoff_origins)
                VALUES ('\(membership.group)', '\(membership.issuer)', '\(id)', '\(membership.role)',
                    \(membership.ceiling.map(Self.array) ?? "NULL"), \(membership.handoff.map { "'\($0)'" } ?? "NULL"),
                    \(Self.array(membership.handoffOrigins)))
                """,
            ]
        }
        return statements
    }

    private static func array(_ texts: [String]) -> String {
        "ARRAY[\(texts.map { "'\($0)'" }.joined(separator: ", "))]::text[]"
    }
}

extension SQLSession {
    /// Registers an app that may have `openid profile` and gets `openid`.
    package nonisolated func register(
        _ app: String, in membership: ClientRow.Membership?, _ change: (inout ClientRow) -> Void = { _ in }
    ) async throws {
        let row = ClientRow(app, membership: membership) {
            $0.allowedScope = ["openid", "profile"]
            $0.defaultScope = ["openid"]
            change(&$0)
        }
        for statement in row.sql { try await rows(statement) }
    }
}
