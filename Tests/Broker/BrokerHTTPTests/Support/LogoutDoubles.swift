import NativeSSO
import Synchronization

/// Says of every logout token what it was told to say.
final class StubLogoutTokenVerifier: LogoutTokenVerifier {
    private let answer: Mutex<Result<LogoutTokenClaims, LogoutError>>

    init(_ claims: LogoutTokenClaims) { answer = Mutex(.success(claims)) }

    func answer(_ answer: Result<LogoutTokenClaims, LogoutError>) { self.answer.withLock { $0 = answer } }

    func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims {
        try answer.withLock { $0 }.get()
    }
}

/// Ends sessions of a registry in memory.
final class InMemoryLogoutRegistry: LogoutRegistry {
    private struct State {
        var used: Set<[UInt8]> = []
        var records: [LogoutRecord] = []
        var failure: PortError?
    }

    private let state = Mutex(State())

    /// What was asked for.
    var records: [LogoutRecord] { state.withLock { $0.records } }

    /// What every further call throws; `nil`: they work again.
    func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    func end(_ logout: LogoutRecord) async throws(PortError) -> Int64? {
        let (isFirst, failure) = state.withLock { state in
            if let failure = state.failure { return (false, failure as PortError?) }
            state.records.append(logout)
            return (state.used.insert(logout.digest).inserted, nil)
        }
        if let failure { throw failure }
        return isFirst ? 1 : nil
    }
}
