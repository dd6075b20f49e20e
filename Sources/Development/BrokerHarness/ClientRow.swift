/// An app in the registry, written straight into its tables: what a test needs of it and nothing else.
public struct ClientRow: Sendable {
    public var id: String
    public var isEnabled = true
    /// How it proves who it is; it gets what it does that with by command.
    public var authentication = "none"
    public var grants = ["urn:ietf:params:oauth:grant-type:token-exchange", "refresh_token"]
    public var allowedScope: [String] = []
    public var defaultScope: [String] = []
    public var acceptedACR: [String] = []
    public var maximumAuthenticationSeconds: Int?
    public var dpop = "off"
    /// Group, role and ceiling.
    public var membership: Membership?

    public struct Membership: Sendable {
        public var group: String
        public var issuer: String
        public var role: String
        public var ceiling: [String]?

        public init(group: String, issuer: String, role: String = "both", ceiling: [String]? = nil) {
            self.group = group
            self.issuer = issuer
            self.role = role
            self.ceiling = ceiling
        }
    }

    public init(_ id: String, membership: Membership? = nil, _ change: (inout ClientRow) -> Void = { _ in }) {
        self.id = id
        self.membership = membership
        change(&self)
    }

    /// The statements that bring it in.
    public var sql: [String] {
        var statements = [
            """
            INSERT INTO native_sso.client (
                client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences,
                issues_refresh_token, issues_id_token, includes_session_id, allows_self_exchange, dpop, accepted_acr,
                maximum_authentication_seconds)
            VALUES (
                '\(id)', '\(authentication)', \(isEnabled),
                \(Self.array(grants)), \(Self.array(allowedScope)), \(Self.array(defaultScope)),
                ARRAY['https://api.example.test'], true, false, true, false, '\(dpop)',
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
                INSERT INTO native_sso.sharing_group_member (group_id, issuer, client_id, role, scope_ceiling)
                VALUES ('\(membership.group)', '\(membership.issuer)', '\(id)', '\(membership.role)',
                    \(membership.ceiling.map(Self.array) ?? "NULL"))
                """,
            ]
        }
        return statements
    }

    private static func array(_ texts: [String]) -> String {
        "ARRAY[\(texts.map { "'\($0)'" }.joined(separator: ", "))]::text[]"
    }
}
