import NativeSSO
import OAuthWire

/// Which refusals are written to the audit: all at the rate of normal apps, and a sample of a flood. So a flood burdens
/// neither the database nor the events that matter. Every refusal still has its line in the log and its count in the
/// metrics.
struct AuditLimit: Sendable {
    /// All refusals together that any caller of the listener can cause.
    static let unproven = RateLimit(burst: 1000, interval: .milliseconds(100))
    /// The same refusal of the same token, token family or assertion: a loop in an app, or a thief who tries again.
    static let repeated = RateLimit(burst: 8, interval: .seconds(60))
    /// How many tokens, token families and assertions are counted separately. Each has a good signature or MAC, so
    /// logins and the clients' own assertions bound their number. Refusals of those beyond are all written.
    static let mostCredentials = 4096

    private let unproven = BucketTable(Self.unproven, capacity: 512, whenFull: .refuse)
    private let repeated = BucketTable(Self.repeated, capacity: Self.mostCredentials, whenFull: .admit)
    private let start = ContinuousClock.now

    /// - Parameter presented: The refresh token or subject token of the request, if it was read, or the used assertion.
    func admits(_ refusal: Refusal, of presented: Credential?, at now: ContinuousClock.Instant) -> Bool {
        let now = start.duration(to: now).nanoseconds
        guard refusal.followsProof, let presented else { return unproven.charge(BucketKey.everybody, at: now) == 0 }
        return repeated.charge(BucketKey.key(presented, refusal.reason), at: now) == 0
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

extension BucketKey {
    /// One for all generations of a token family: they share the first 27 characters, prefix, key and grant.
    fileprivate static func key(_ credential: Credential, _ reason: String) -> UInt64 {
        let octets = credential.secret.utf8
        return hash { hasher in
            combine(reason, into: &hasher)
            for octet in octets.prefix(octets.count == RefreshToken.length ? 27 : .max) { hasher.combine(octet) }
        }
    }
}
