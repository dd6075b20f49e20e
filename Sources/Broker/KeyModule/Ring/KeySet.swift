import JOSE

/// The keys of one moment: what the registry lists, as far as the provider could load it. Immutable.
public final class KeySet: Sendable {
    /// A key that could not be loaded.
    public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        public let kid: String
        public let use: KeyUse
        public let state: KeyState
        /// What is wrong and what to do about it.
        public let explanation: String

        public var description: String { "\(use.rawValue) key \(kid) (\(state.rawValue)): \(explanation)" }
    }

    let signer: TokenSigning?
    /// By the first octet of the refresh tokens; `nil` for a key that exists but could not be loaded.
    let refreshTokenKeys: [UInt8: MACKey?]
    /// Whether there is a key of which not even the id is known: then an unknown id may be one of ours.
    let lacksRefreshTokenKeys: Bool
    let refreshTokenKeyID: UInt8?
    let deviceKey: MACKey?
    /// The active keys that are loaded.
    let activeKIDs: Set<String>
    /// The keys whose products are accepted, loaded or not.
    let verifyingKIDs: Set<String>

    /// The JWKS to publish: keys that sign, will sign, or have signed. RFC 7517 §5.
    public let jwks: [UInt8]
    /// The same keys; `nil`: there are none.
    let verificationKeys: JSONWebKeySet?
    /// The `kid` of the key that signs; `nil`: none does.
    public var signingKID: String? { signer?.kid }
    public let problems: [Problem]

    /// The uses that have no active key, or one that could not be loaded.
    public var missing: [KeyUse] {
        (signer == nil ? [.accessToken] : []) + (refreshTokenKeyID == nil ? [.refreshToken] : [])
            + (deviceKey == nil ? [.device] : [])
    }

    /// Loads what `records` list. One key that cannot be loaded does not keep the others away: see ``problems``.
    /// - Parameter isComplete: Whether `records` are all that the registry lists for refresh tokens.
    public init(_ records: [KeyRecord], isComplete: Bool = true, from provider: any KeyProvider) {
        var loading = KeyLoading(provider)
        let records = records.filter(\.state.verifies)
        for record in records { loading.load(record) }
        signer = loading.signer
        refreshTokenKeys = loading.refreshTokenKeys
        refreshTokenKeyID = loading.refreshTokenKeyID
        lacksRefreshTokenKeys = !isComplete || loading.lacksRefreshTokenKeys
        deviceKey = loading.deviceKey
        activeKIDs = loading.activeKIDs
        verifyingKIDs = Set(records.map(\.kid))
        jwks = loading.jwks
        verificationKeys = loading.verificationKeys
        problems = loading.problems
    }
}
