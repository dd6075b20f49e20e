package import NativeSSO
import Synchronization

/// An identity provider's token endpoint that does what it was told to.
package final class ScriptedCodeRelay: CodeRelay {
    package enum Answer: Sendable {
        case tokens(ProviderTokens)
        case failure(CodeRelayError)
        /// Waits until ``goOn()``.
        case waits(ProviderTokens)
    }

    private struct State {
        var answer: Answer
        var codes: [PresentedCode] = []
        var revoked: [String] = []
        var revocation = RevocationOutcome.revoked
        var holdsRevocations = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    package init(_ answer: Answer) { state = Mutex(State(answer: answer)) }

    package func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }

    /// Every code it was asked about.
    package var codes: [PresentedCode] { state.withLock { $0.codes } }

    /// What becomes of a refresh token that it is asked to revoke.
    package func revocation(_ outcome: RevocationOutcome) { state.withLock { $0.revocation = outcome } }

    /// Revocations wait until ``goOn()``.
    package func holdRevocations() { state.withLock { $0.holdsRevocations = true } }

    /// Every refresh token that it was asked to revoke.
    package var revoked: [String] { state.withLock { $0.revoked } }

    package func revoke(_ refreshToken: String, of client: ClientID, at issuer: Issuer) async -> RevocationOutcome {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                state.revoked.append(refreshToken)
                guard state.holdsRevocations else { return true }
                state.waiting.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
        return state.withLock { $0.revocation }
    }

    package func goOn() {
        let waiting = state.withLock { state in
            state.holdsRevocations = false
            return exchange(&state.waiting, with: [])
        }
        for continuation in waiting { continuation.resume() }
    }

    package func redeem(
        _ code: PresentedCode, of client: ClientID, at issuer: Issuer
    ) async throws(CodeRelayError) -> ProviderTokens {
        switch state.withLock({ $0.answer }) {
        case .tokens(let tokens):
            state.withLock { $0.codes.append(code) }
            return tokens
        case .failure(let failure):
            state.withLock { $0.codes.append(code) }
            throw failure
        case .waits(let tokens):
            // In one step, so that a test that sees the code can release the call.
            await withCheckedContinuation { (held: CheckedContinuation<Void, Never>) in
                state.withLock { state in
                    state.codes.append(code)
                    state.waiting.append(held)
                }
            }
            return tokens
        }
    }
}
