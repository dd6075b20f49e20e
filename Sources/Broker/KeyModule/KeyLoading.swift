import JOSE
import NativeSSO

/// Loads the parts of a ``KeySet``.
struct KeyLoading {
    private let provider: any KeyProvider
    private var published: [JSONWebKey] = []
    var signer: TokenSigning?
    var refreshTokenKeys: [UInt8: MACKey?] = [:]
    var refreshTokenKeyID: UInt8?
    var lacksRefreshTokenKeys = false
    var deviceKey: MACKey?
    var activeKIDs: Set<String> = []
    var problems: [KeySet.Problem] = []

    init(_ provider: any KeyProvider) {
        self.provider = provider
    }

    mutating func load(_ record: KeyRecord) {
        do throws(KeyError) {
            switch record.use {
            case .accessToken: try loadSigningKey(record)
            case .refreshToken: try loadRefreshTokenKey(record)
            case .device: if record.state == .active { deviceKey = try provider.macKey(record) }
            }
            if record.state == .active { activeKIDs.insert(record.kid) }
        } catch {
            problems.append(
                KeySet.Problem(
                    kid: record.kid, use: record.use, state: record.state, explanation: error.description))
        }
    }

    private mutating func loadSigningKey(_ record: KeyRecord) throws(KeyError) {
        // Retired keys are published from their private part too. Do not trust the database's public keys: an
        // attacker with write access could publish their own.
        let key = try provider.signingKey(record)
        published.append(key.publicKey)
        if record.state == .active { signer = TokenSigning(key, kid: record.kid) }
    }

    private mutating func loadRefreshTokenKey(_ record: KeyRecord) throws(KeyError) {
        guard case .refreshToken(let id)? = KeyReference(record.reference, use: .refreshToken) else {
            lacksRefreshTokenKeys = true
            throw .badReference(record.reference)
        }
        refreshTokenKeys[id] = .some(nil)
        refreshTokenKeys[id] = try provider.macKey(record)
        if record.state == .active { refreshTokenKeyID = id }
    }

    var verificationKeys: JSONWebKeySet? { try? JSONWebKeySet(published) }

    var jwks: [UInt8] { JSONWebKeySet.document(of: published) }
}
