/// A broken promise of the broker.
enum Violation: Hashable, Sendable, CustomStringConvertible {
    /// An app got generation `acknowledged`; later the token family was at `found` (`nil`: the grant was gone).
    case rotationLost(grant: String, acknowledged: Int, found: Int?)
    /// An ended session or a revoked token family had a success, or is live in the database.
    case revocationLost(session: String, String)
    /// Two tokens are good although at most one may be.
    case secondFamily(session: String, app: String, String)
    /// The broker told an honest app that its login is void.
    case honestAppRefused(session: String, app: String, sentAt: Duration, String, request: String)
    case unexpectedAnswer(session: String, sentAt: Duration, String)
    /// A running broker gave no answer.
    case noAnswer(session: String, sentAt: Duration)

    var description: String {
        switch self {
        case .rotationLost(let grant, let acknowledged, let found):
            "lost rotation: \(grant) was acknowledged at \(acknowledged) and found at \(found.map(String.init) ?? "none")"
        case .revocationLost(let session, let what): "lost revocation in \(session): \(what)"
        case .secondFamily(let session, let app, let what): "second family of \(app) in \(session): \(what)"
        case .honestAppRefused(let session, let app, let sentAt, let what, let request):
            "\(app) refused in \(session), \(what) sent at \(sentAt), request \(request)"
        case .unexpectedAnswer(let session, let sentAt, let what):
            "unexpected answer in \(session), sent at \(sentAt): \(what)"
        case .noAnswer(let session, let sentAt): "no answer in \(session), sent at \(sentAt), from a living broker"
        }
    }
}
