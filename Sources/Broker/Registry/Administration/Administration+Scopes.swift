import PostgresClient

/// A scope that the registry says something about. One that it does not know needs no consent.
public struct RegisteredScope: Sendable, Hashable {
    public let name: String
    public let requiresConsent: Bool
}

extension Administration {
    /// All registered scopes, by name.
    public func scopes() async throws(AdministrationError) -> [RegisteredScope] {
        try await rows(Self.selectScopes) {
            RegisteredScope(name: try $0.text(0), requiresConsent: try $0.bool(1))
        }
    }

    /// Registers a scope, or changes whether it needs consent. Grants that have it keep it, and refresh it.
    /// - Parameter requiresConsent: `nil`: as it was; a new one does not.
    /// - Returns: The scope as it is now.
    @discardableResult
    public func putScope(
        _ name: String, requiresConsent: Bool?, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> RegisteredScope {
        try await change(
            Self.upsertScope, [.text(name), requiresConsent.map { .bool($0) } ?? .null], as: .scopeSet, act,
            details: { [("scope", name), ("requires_consent", String($0.requiresConsent))] },
            orElse: .notFound("scope \(name)")
        ) { row throws(PostgresError) in RegisteredScope(name: name, requiresConsent: try row.bool(0)) }
    }

    /// Forgets a scope: from then on it needs no consent. Grants that have it keep it; to take a scope away, take it from its
    /// clients.
    public func removeScope(_ name: String, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(
            Self.deleteScope, [.text(name)], as: .scopeRemoved, act, details: [("scope", name)],
            orElse: .notFound("scope \(name)"))
    }

    static let scopeStatements = [
        selectScopes, upsertScope, deleteScope,
    ]

    private static let selectScopes = Statement(
        "SELECT name::text, requires_consent FROM native_sso.scope ORDER BY name")
    private static let upsertScope = Statement(
        """
        INSERT INTO native_sso.scope AS registered (name, requires_consent) VALUES ($1, coalesce($2, false))
        ON CONFLICT (name) DO UPDATE SET requires_consent = coalesce($2, registered.requires_consent)
        RETURNING registered.requires_consent
        """)
    private static let deleteScope = Statement("DELETE FROM native_sso.scope WHERE name = $1 RETURNING 1")
}
