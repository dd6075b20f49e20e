public import NativeSSO
import Synchronization

/// Says of every id_token what it was told to say.
public final class StubIDTokenVerifier: IDTokenVerifier {
    public enum Answer: Sendable {
        case claims(IDTokenClaims)
        case refusal(SubjectTokenDefect)
        case outage
    }

    /// One call.
    public struct Question: Sendable, Equatable {
        public let issuer: Issuer
        public let use: IDTokenUse
        public let now: UnixTime
    }

    private let state: Mutex<(answer: Answer, questions: [Question])>

    public init(_ answer: Answer) { state = Mutex((answer, [])) }

    /// What every further call says.
    public func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }

    public var questions: [Question] { state.withLock { $0.questions } }

    public func verify(
        _ idToken: SubjectToken, from issuer: Issuer, for use: IDTokenUse, at now: UnixTime
    ) throws(IDTokenVerificationError) -> IDTokenVerification {
        let answer = state.withLock { state in
            state.questions.append(Question(issuer: issuer, use: use, now: now))
            return state.answer
        }
        switch answer {
        case .claims(let claims): return .verified(claims)
        case .refusal(let defect): throw .refused(defect)
        case .outage: throw .outage(Outage(.identityProvider, "told to fail"))
        }
    }
}
