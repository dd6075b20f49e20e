package import NativeSSO
import Synchronization

/// Says of every id_token what it was told to say.
package final class StubIDTokenVerifier: IDTokenVerifier {
    package enum Answer: Sendable {
        case claims(IDTokenClaims)
        case refusal(SubjectTokenDefect)
        case outage
    }

    /// One call.
    package struct Question: Sendable, Equatable {
        package let issuer: Issuer
        package let use: IDTokenUse
        package let now: UnixTime
    }

    private let state: Mutex<(answer: Answer, questions: [Question])>

    package init(_ answer: Answer) { state = Mutex((answer, [])) }

    /// What every further call says.
    package func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }

    package var questions: [Question] { state.withLock { $0.questions } }

    package func verify(
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
