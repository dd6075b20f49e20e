package import JOSE
package import NativeSSO
import StrictCoding

/// Verifies the DPoP proofs of token requests: RFC 9449 §4.3 and §5, except for reuse. The grant's statement refuses a
/// used proof.
package struct ProofVerifier: Sendable {
    private let target: TargetURI
    private let nonces: ProofNonces?
    private let clock: any WallClock

    /// The maximum age of a proof, and how far ahead the device's clock may be.
    static let oldest: Seconds = 60
    static let furthestAhead: Seconds = 30
    /// Replaces both limits if a nonce gives the proof's time: the device's clock may be this wrong.
    static let largestClockError: Seconds = .minutes(10)

    /// - Parameters:
    ///   - target: The token endpoint as apps address it. Never taken from a request header, whose sender could choose
    ///     the target that a proof was made for.
    ///   - nonces: `nil`: the broker demands no nonces.
    package init(target: TargetURI, nonces: ProofNonces?, clock: any WallClock) {
        self.target = target
        self.nonces = nonces
        self.clock = clock
    }

    /// - Parameter fields: Every `DPoP` field of the request.
    /// - Returns: `nil` if no proof is present or required, or if the client's policy ignores proofs.
    func proof(_ fields: [String], of client: Client) async throws(TokenError) -> PresentedProof? {
        switch client.proofPolicy {
        case .off: return nil
        case .optional: if fields.isEmpty { return nil }
        case .required: if fields.isEmpty { throw .refused(.request(.proofRequired)) }
        }
        let now = clock.now
        let (oldest, furthestAhead) =
            nonces == nil ? (Self.oldest, Self.furthestAhead) : (Self.largestClockError, Self.largestClockError)
        let times = now.seconds - oldest.count...now.seconds + furthestAhead.count
        let proof: DPoPProof
        do throws(DPoPDefect) {
            proof = try DPoPProof(fields, method: "POST", target: target, times: times)
        } catch {
            throw .refused(.proof(error))
        }
        // Last: a defective proof would be defective with a nonce, too. RFC 9449 §8.
        try await require(proof.nonce, at: now)
        guard let key = KeyThumbprint(proof.keyThumbprint) else { throw .broken("a malformed thumbprint") }
        return PresentedProof(
            key: key, id: ProofID(key: key, jti: proof.tokenID), life: Seconds(oldest.count + furthestAhead.count))
    }

    /// For the next request of a client that showed a proof; `nil` if nonces are off, or if none can be made now.
    var freshNonce: String? {
        get async {
            guard let nonces else { return nil }
            return try? await nonces.make(at: clock.now)
        }
    }

    private func require(_ nonce: String?, at now: UnixTime) async throws(TokenError) {
        guard let nonces else { return }
        let defect = try await TokenError.port { () async throws(PortError) in
            try await nonces.defect(of: nonce, at: now)
        }
        guard let defect else { return }
        let fresh = try await TokenError.port { () async throws(PortError) in try await nonces.make(at: now) }
        throw .refused(.nonce(defect, fresh: fresh))
    }
}

/// The nonces of DPoP proofs: the broker's time under a MAC. Every replica recognizes them, and no state is stored. RFC
/// 9449 §8.
///
///     base64url( key id (1) ‖ seconds since 1970 (8, big-endian) ‖ tag (16) )
///
/// `tag` is the first half of HMAC-SHA-256 over a label and all preceding octets, under a refresh-token key of the key
/// module. All replicas share those keys. After a key rotation, the previous key's nonces stay good until they are too
/// old. Refresh tokens have another label, so a nonce never passes for a refresh token or the reverse.
package struct ProofNonces: Sendable {
    private let keys: any RefreshTokenAuthenticator
    private let life: Seconds

    /// Clock difference between two replicas.
    private static let skew: Seconds = 30
    private static let label = Array("native-sso dpop nonce\0".utf8)
    private static let bodyLength = 1 + 8
    private static let tagLength = 16

    /// - Parameter life: After this time an app must use a new nonce.
    package init(keys: any RefreshTokenAuthenticator, life: Seconds) {
        self.keys = keys
        self.life = life
    }

    /// Always 34 characters.
    func make(at now: UnixTime) async throws(PortError) -> String {
        let keyID = try keys.currentKeyID
        let time = UInt64(bitPattern: now.seconds)
        let body = [keyID] + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: time >> UInt64($0)) }
        guard let tag = try await keys.tag(Self.label + body, keyID: keyID) else {
            throw .broken("the current refresh-token key is not in the key ring")
        }
        return Base64URL.encode(body + tag.prefix(Self.tagLength))
    }

    /// `nil`: the nonce is good now.
    func defect(of nonce: String?, at now: UnixTime) async throws(PortError) -> NonceDefect? {
        guard let nonce else { return .missing }
        guard let octets = Base64URL.decode(nonce), octets.count == Self.bodyLength + Self.tagLength,
            let expected = try await keys.tag(Self.label + octets[..<Self.bodyLength], keyID: octets[0]),
            ConstantTime.equal(expected.prefix(Self.tagLength), octets[Self.bodyLength...])
        else { return .unknown }
        let time = octets[1..<Self.bodyLength].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let age = now.since(UnixTime(seconds: Int64(bitPattern: time)))
        return age < life && age.count >= -Self.skew.count ? nil : .stale
    }
}

/// Why a proof must be repeated with another nonce.
package enum NonceDefect: Error, Sendable, CaseIterable {
    case missing
    /// Not made by this broker, or under a removed key.
    case unknown
    case stale
}
