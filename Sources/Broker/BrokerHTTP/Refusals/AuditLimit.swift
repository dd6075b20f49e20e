import NativeSSO
import OAuthWire
import Synchronization

/// Which refusals are written to the audit: all of them while they come as they do from apps, and a sample of a flood, so
/// that neither the database nor the events that matter pay for it. Every refusal has its line in the log and its count
/// in the metrics whatever is said here.
final class AuditLimit: Sendable {
    /// What anybody can cause who can reach the listener, all of it together.
    static let unproven = RateLimit(burst: 1000, interval: .milliseconds(100))
    /// The same refusal of the same token, chain or assertion: a loop in an app, a thief who tries again.
    static let repeated = RateLimit(burst: 8, interval: .seconds(60))
    /// How many tokens, chains and assertions are told apart. Each is known to be good in form and signature, so their number
    /// is that of logins, and of what clients sign; beyond it all is forgotten, and the sample grows.
    static let mostCredentials = 4096

    private struct Key: Hashable {
        let credential: Int
        let reason: String
    }

    private struct State {
        var unproven: ContinuousClock.Instant?
        var repeated: [Key: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())

    /// - Parameter presented: The refresh token or subject token of the request, if it came so far, or the assertion that was
    ///   used before.
    func admits(_ refusal: Refusal, of presented: Credential?, at now: ContinuousClock.Instant) -> Bool {
        guard refusal.followsProof, let presented else {
            return state.withLock { Self.unproven.admits(&$0.unproven, at: now) }
        }
        let key = Key(credential: presented.chainHash, reason: refusal.reason)
        return state.withLock { state in
            if state.repeated.count >= Self.mostCredentials, state.repeated[key] == nil { state.repeated = [:] }
            return Self.repeated.admits(&state.repeated[key], at: now)
        }
    }
}

extension Refusal {
    /// Whether a signature or MAC was verified before it: then its number is bounded by that of the logins, or of the client's
    /// own assertions.
    fileprivate var followsProof: Bool {
        switch self {
        case .wire, .request, .form, .parameter, .proof, .nonce, .logout: false
        case .client(let failure): failure.reason == .assertionReplayed
        case .subjectToken: false
        case .exchange, .enrolment, .code(.enrolment): true
        case .code: false
        case .refresh(let refusal): refusal != .tokenNotOurs
        case .rate(let limited): limited.followsProof
        }
    }
}

extension Credential {
    /// Names a token, or the chain of a refresh token, for as long as this process lives: Swift's hashes are seeded.
    fileprivate var chainHash: Int {
        var hasher = Hasher()
        // All generations of a refresh token begin alike: prefix, key and grant are in the first 27 characters.
        let chain = secret.utf8.count == RefreshToken.length ? secret.utf8.prefix(27) : secret.utf8.prefix(.max)
        for octet in chain { hasher.combine(octet) }
        return hasher.finalize()
    }
}
