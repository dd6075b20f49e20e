import Crypto
import NIOConcurrencyHelpers

/// The tokens that were verified lately, with their claims, by the digest of the whole token.
///
/// It holds at most its capacity: the tokens since the last turn, and those of the turn before. One that is asked for
/// stays.
final class VerifiedTokens: Sendable {
    typealias Digest = SHA256Digest

    private struct State {
        /// Of the key set that verified them.
        var version = 0
        var recent: [Digest: AccessTokenClaims] = [:]
        var earlier: [Digest: AccessTokenClaims] = [:]

        mutating func insert(_ claims: AccessTokenClaims, _ digest: Digest, turn: Int) {
            if recent.count >= turn {
                earlier = recent
                recent = [:]
            }
            recent[digest] = claims
        }
    }

    private let turn: Int
    private let state = NIOLockedValueBox(State())

    init(capacity: Int) { turn = max(capacity / 2, 1) }

    static func digest(of token: String) -> Digest {
        var token = token
        return token.withUTF8 { SHA256.hash(data: $0) }
    }

    /// `nil` if the token is not known, or was verified by other keys.
    func claims(of digest: Digest, keys version: Int) -> AccessTokenClaims? {
        state.withLockedValue { state in
            guard state.version == version else { return nil }
            if let claims = state.recent[digest] { return claims }
            guard let claims = state.earlier[digest] else { return nil }
            state.insert(claims, digest, turn: turn)
            return claims
        }
    }

    func insert(_ claims: AccessTokenClaims, of digest: Digest, keys version: Int) {
        state.withLockedValue { state in
            guard version >= state.version else { return }
            if version > state.version { state = State(version: version) }
            state.insert(claims, digest, turn: turn)
        }
    }
}
