public import NativeSSO
import PostgresClient

extension Administration {
    /// Every entry that the key set of `issuer` has ever shown, as the brokers recorded it.
    public func providerKeys(of issuer: Issuer) async throws(AdministrationError) -> [ProviderKeyRow] {
        do throws(PortError) {
            return try await ProviderKeyStore(database: pool).keys(of: issuer)
        } catch {
            throw .corrupt(column: "idp_key")
        }
    }

    /// From then on, and for good, no token by this key is accepted: whatever entries of the key set it stands in, and
    /// whether or not it is there now. In use on every broker within seconds.
    /// - Parameter thumbprint: RFC 7638, SHA-256, base64url.
    public func revokeProviderKey(
        _ thumbprint: String, of issuer: Issuer, _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        try await change(
            Self.revokeProviderKey, [.text(issuer.string), .text(thumbprint)], as: .idpKeyRevoked, act,
            details: [("issuer", issuer.string), ("thumbprint", thumbprint)],
            orElse: .notFound("this key, unrevoked,"))
    }

    /// $1 issuer, $2 thumbprint.
    static let revokeProviderKey = Statement(
        """
        UPDATE native_sso.idp_key SET revoked_at = date_trunc('second', now())
        WHERE issuer = $1 AND thumbprint = $2 AND revoked_at IS NULL RETURNING 1
        """)
}
