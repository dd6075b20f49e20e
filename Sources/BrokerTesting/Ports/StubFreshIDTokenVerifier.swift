public import NativeSSO
import Synchronization

/// Says of every fresh id_token what it was told to say.
public final class StubFreshIDTokenVerifier: FreshIDTokenVerifier {
    public enum Answer: Sendable {
        case token(FreshIDToken)
        case refusal(SubjectTokenDefect)
        case outage
    }

    private let state: Mutex<Answer>

    public init(_ answer: Answer) { state = Mutex(answer) }

    /// What every further call says.
    public func answer(_ answer: Answer) { state.withLock { $0 = answer } }

    public func verifyFresh(
        _ idToken: SubjectToken, from issuer: Issuer, at now: UnixTime
    ) async throws(IDTokenVerificationError) -> FreshIDToken {
        switch state.withLock({ $0 }) {
        case .token(let token): return token
        case .refusal(let defect): throw .refused(defect)
        case .outage: throw .outage(Outage(.identityProvider, "told to fail"))
        }
    }
}
