import PostgresClient

/// A scope with special handling. A scope that is not registered needs no consent.
package struct RegisteredScope: Sendable, Hashable {
    package let name: String
    package let requiresConsent: Bool

    package init(name: String, requiresConsent: Bool) {
        self.name = name
        self.requiresConsent = requiresConsent
    }
}

extension Administration {
    package func scopes() async throws(AdministrationError) -> [RegisteredScope] {
        try await rows(Self.selectScopes, [], Self.scope)
    }

    /// Registers a scope, or changes whether it needs consent. Existing grants keep the scope.
    /// - Parameter requiresConsent: `nil`: no change; for a new scope: no consent.
    /// - Returns: The scope after the change.
    @discardableResult
    package func putScope(
        _ name: String, requiresConsent: Bool?, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> RegisteredScope {
        try await change(Self.setting(of: name, requiresConsent: requiresConsent), act)
    }

    /// Removes a scope from the registry, so that it needs no consent. Existing grants keep it. To withdraw a scope,
    /// remove it from its clients.
    package func removeScope(_ name: String, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.removal(ofScope: name), act)
    }

    static func setting(of name: String, requiresConsent: Bool?) -> Change<RegisteredScope> {
        Change(
            upsertScope, [.text(name), requiresConsent.map { .bool($0) } ?? .null], as: .scopeSet,
            details: { [("scope", name), ("requires_consent", String($0.requiresConsent))] },
            orElse: .notFound("scope \(name)")
        ) { row throws(PostgresError) in RegisteredScope(name: name, requiresConsent: try row.bool(0)) }
    }

    static func removal(ofScope name: String) -> Change<Void> {
        Change(
            deleteScope, [.text(name)], as: .scopeRemoved, details: [("scope", name)],
            orElse: .notFound("scope \(name)"))
    }

    static func scope(_ row: Row) throws -> RegisteredScope {
        RegisteredScope(name: try row.text(0), requiresConsent: try row.bool(1))
    }

    static let selectScopes = Statement("SELECT name::text, requires_consent FROM native_sso.scope ORDER BY name")
    private static let upsertScope = Statement(
        """
        INSERT INTO native_sso.scope AS registered (name, requires_consent) VALUES ($1, coalesce($2, false))
        ON CONFLICT (name) DO UPDATE SET requires_consent = coalesce($2, registered.requires_consent)
        RETURNING registered.requires_consent
        """)
    private static let deleteScope = Statement("DELETE FROM native_sso.scope WHERE name = $1 RETURNING 1")
}
