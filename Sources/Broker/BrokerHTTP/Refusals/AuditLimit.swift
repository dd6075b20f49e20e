import NativeSSO
import OAuthWire
import Synchronization

/// Which refusals are written to the audit: all at the rate of normal apps, and a sample of a flood. So a flood burdens
/// neither the database nor the events that matter. Every refusal still has its line in the log and its count in the
/// metrics.
final class AuditLimit: Sendable {
    /// All refusals together that any caller of the listener can cause.
    static let unproven = RateLimit(burst: 1000, interval: .milliseconds(100))
    /// The same refusal of the same token, token family or assertion: a loop in an app, or a thief who tries again.
    static let repeated = RateLimit(burst: 8, interval: .seconds(60))
    /// How many tokens, token families and assertions are counted separately. Each has a good signature or MAC, so
    /// logins and the clients' own assertions bound their number. At this size all counts are dropped, and the sample
    /// grows.
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

    /// - Parameter presented: The refresh token or subject token of the request, if it was read, or the used assertion.
    func admits(_ refusal: Refusal, of presented: Credential?, at now: ContinuousClock.Instant) -> Bool {
        guard refusal.followsProof, let presented else {
            return state.withLock { Self.unproven.admits(&$0.unproven, at: now) }
        }
        let key = Key(credential: presented.familyHash, reason: refusal.reason)
        return state.withLock { state in
            if state.repeated.count >= Self.mostCredentials, state.repeated[key] == nil { state.repeated = [:] }
            return Self.repeated.admits(&state.repeated[key], at: now)
        }
    }
}

extension Refusal {
    /// Whether a signature or MAC was verified before the refusal. Then logins, or the client's own assertions, bound
    /// the number of such refusals.
    fileprivate var followsProof: Bool {
        switch self {
        case .wire, .request, .form, .parameter, .proof, .nonce, .logout, .event: false
        case .client(let failure): failure.reason == .assertionReplayed
        case .subjectToken: false
        case .exchange, .enrolment, .code(.enrolment): true
        case .code: false
        // A public client may send anything as a code.
        case .handoff(let refusal): refusal != .codeUnknown && refusal != .webAppUnusable
        case .refresh(let refusal): refusal != .tokenNotOurs
        case .revocation(let refusal): refusal == .foreignClient
        case .rate(let limited): limited.followsProof
        }
    }
}

extension Credential {
    /// Identifies a token, or the family of a refresh token, within this process: Swift's hashes are seeded.
    fileprivate var familyHash: Int {
        var hasher = Hasher()
        // All generations of a token family share the first 27 characters: prefix, key and grant.
        let family = secret.utf8.count == RefreshToken.length ? secret.utf8.prefix(27) : secret.utf8.prefix(.max)
        for octet in family { hasher.combine(octet) }
        return hasher.finalize()
    }
}
