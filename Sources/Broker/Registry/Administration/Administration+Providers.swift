package import NativeSSO
import PostgresClient

/// An identity provider from which the brokers take no login for now.
package struct ProviderSuspension: Sendable, Hashable {
    package let issuer: Issuer
    package let suspendedAt: UnixTime

    init(_ row: Row) throws {
        issuer = try SuspensionStatements.issuer(row)
        suspendedAt = row.sinceWhen(1)
    }
}

extension Administration {
    package func suspendedProviders() async throws(AdministrationError) -> [ProviderSuspension] {
        try await rows(SuspensionStatements.select, [], ProviderSuspension.init)
    }

    /// Those that have a group, published a key, had sessions or are suspended.
    package func knownProviders() async throws(AdministrationError) -> [Issuer] {
        try await rows(SuspensionStatements.known, []) { try $0.identifier(try $0.text(0), "issuer") }
    }

    /// From the commit on, within seconds on every broker, no id_token and no code of the provider is accepted.
    package func suspend(_ issuer: Issuer, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(
            SuspensionStatements.insert, [.text(issuer.string)], as: .idpSuspended, act,
            details: [("issuer", issuer.string)], orElse: .refused("\(issuer) is suspended already"))
    }

    package func resume(_ issuer: Issuer, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(
            SuspensionStatements.delete, [.text(issuer.string)], as: .idpResumed, act,
            details: [("issuer", issuer.string)], orElse: .refused("\(issuer) is not suspended"))
    }
}

enum SuspensionStatements {
    static let select = Statement(
        "SELECT issuer::text, suspended_at FROM native_sso.suspended_provider ORDER BY issuer")

    static func issuer(_ row: Row) throws -> Issuer { try row.identifier(try row.text(0), "issuer") }

    static let known = Statement(
        """
        SELECT issuer::text FROM native_sso.sharing_group UNION SELECT issuer::text FROM native_sso.idp_key
        UNION SELECT issuer::text FROM native_sso.subject_prefix
        UNION SELECT issuer::text FROM native_sso.suspended_provider ORDER BY 1
        """)
    static let insert = Statement(
        """
        INSERT INTO native_sso.suspended_provider (issuer, suspended_at) VALUES ($1, now())
        ON CONFLICT (issuer) DO NOTHING RETURNING 1
        """)
    static let delete = Statement("DELETE FROM native_sso.suspended_provider WHERE issuer = $1 RETURNING 1")
}
