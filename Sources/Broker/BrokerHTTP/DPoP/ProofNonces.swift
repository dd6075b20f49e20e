public import NativeSSO
import StrictCoding

/// The nonces that proofs must carry: an instant of the broker's clock that every replica knows for its own, and that is stored
/// nowhere. RFC 9449 §8.
///
///     base64url( key id (1) ‖ seconds since 1970 (8, big-endian) ‖ tag (16) )
///
/// `tag` is the first half of HMAC-SHA-256 over a label and all that precedes it, under a refresh-token key of the key module.
/// Those keys are what all replicas share, and they are replaced: the nonces of a key that was active before are good until
/// they are too old. A refresh token begins with another label, so that neither is ever taken for the other.
public struct ProofNonces: Sendable {
    private let keys: any RefreshTokenAuthenticator
    private let life: Seconds

    /// Clock difference between two replicas.
    private static let skew: Seconds = 30
    private static let label = Array("native-sso dpop nonce\0".utf8)
    private static let bodyLength = 1 + 8
    private static let tagLength = 16

    /// - Parameter life: From then on an app is told to take another.
    public init(keys: any RefreshTokenAuthenticator, life: Seconds) {
        self.keys = keys
        self.life = life
    }

    /// Always 34 characters.
    func make(at now: UnixTime) throws(PortError) -> String {
        let keyID = try keys.currentKeyID
        let time = UInt64(bitPattern: now.seconds)
        let body = [keyID] + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: time >> UInt64($0)) }
        guard let tag = try keys.tag(Self.label + body, keyID: keyID) else {
            throw .broken("the current refresh-token key is not in the key ring")
        }
        return Base64URL.encode(body + tag.prefix(Self.tagLength))
    }

    /// `nil`: the nonce is good now.
    func defect(of nonce: String?, at now: UnixTime) throws(PortError) -> NonceDefect? {
        guard let nonce else { return .missing }
        guard let octets = Base64URL.decode(nonce), octets.count == Self.bodyLength + Self.tagLength,
            let expected = try keys.tag(Self.label + octets[..<Self.bodyLength], keyID: octets[0]),
            ConstantTime.equal(expected.prefix(Self.tagLength), octets[Self.bodyLength...])
        else { return .unknown }
        let time = octets[1..<Self.bodyLength].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let age = now.since(UnixTime(seconds: Int64(bitPattern: time)))
        return age < life && age.count >= -Self.skew.count ? nil : .stale
    }
}

/// Why a proof has to be made anew with another nonce.
package enum NonceDefect: Error, Sendable, CaseIterable {
    case missing
    /// Made by nobody here, or under a key that is gone.
    case unknown
    case stale
}
