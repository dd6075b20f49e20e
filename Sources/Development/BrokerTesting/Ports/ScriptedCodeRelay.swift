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
        var arrivals: [(count: Int, CheckedContinuation<Void, Never>)] = []
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

    /// Returns when so many codes have come.
    package func untilAsked(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.codes.count < count else { return true }
                state.arrivals.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
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
            note(code)
            return tokens
        case .failure(let failure):
            note(code)
            throw failure
        case .waits(let tokens):
            await withCheckedContinuation { note(code, holding: $0) }
            return tokens
        }
    }

    /// Records the code before it resumes the waiting tests, so that they can release the held call.
    private func note(_ code: PresentedCode, holding held: CheckedContinuation<Void, Never>? = nil) {
        let arrived = state.withLock { state in
            state.codes.append(code)
            if let held { state.waiting.append(held) }
            defer { state.arrivals.removeAll { $0.count <= state.codes.count } }
            return state.arrivals.filter { $0.count <= state.codes.count }.map(\.1)
        }
        for continuation in arrived { continuation.resume() }
    }
}
