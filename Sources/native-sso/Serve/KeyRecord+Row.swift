import KeyModule
import NativeSSO
import Registry

extension SigningKeyRow {
    /// Whether this version cannot read it, and it may be one that refresh tokens are made with.
    var mayBeUnknownRefreshTokenKey: Bool {
        KeyRecord(self) == nil && (KeyUse(rawValue: use) ?? .refreshToken) == .refreshToken
    }
}

extension KeyRecord {
    /// `nil` for a row of a newer version, with a use, algorithm or state that this one does not know.
    init?(_ row: SigningKeyRow) {
        guard let use = KeyUse(rawValue: row.use), let algorithm = KeyAlgorithm(rawValue: row.algorithm),
            let state = KeyState(rawValue: row.state)
        else { return nil }
        self.init(
            kid: row.kid, use: use, algorithm: algorithm, reference: row.reference, publicJWK: row.publicJWK,
            state: state, createdAt: row.createdAt, publishedAt: row.publishedAt,
            activatedAt: row.activatedAt, retiredAt: row.retiredAt)
    }
}
