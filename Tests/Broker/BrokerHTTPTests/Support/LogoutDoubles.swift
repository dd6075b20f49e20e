import NativeSSO
import Synchronization

/// Gives the same preset result for every logout token.
final class StubLogoutTokenVerifier: LogoutTokenVerifier {
    private let answer: Mutex<Result<LogoutTokenClaims, LogoutError>>

    init(_ claims: LogoutTokenClaims) { answer = Mutex(.success(claims)) }

    func answer(_ answer: Result<LogoutTokenClaims, LogoutError>) { self.answer.withLock { $0 = answer } }

    func verify(_ token: LogoutToken, at now: UnixTime) async throws(LogoutError) -> LogoutTokenClaims {
        try answer.withLock { $0 }.get()
    }
}

/// Ends sessions of an in-memory registry.
final class InMemoryLogoutRegistry: LogoutRegistry {
    private struct State {
        var used: Set<[UInt8]> = []
        var records: [LogoutRecord] = []
        var failure: PortError?
    }

    private let state = Mutex(State())

    /// The recorded calls.
    var records: [LogoutRecord] { state.withLock { $0.records } }

    /// Makes every further call fail; `nil`: calls succeed again.
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

/// Gives the same preset result for every security event and every revocation.
final class StubSecurityEventVerifier: SecurityEventVerifier {
    private let answer: Mutex<Result<SecurityEvent, EventError>>

    init(_ event: SecurityEvent) { answer = Mutex(.success(event)) }

    func answer(_ answer: Result<SecurityEvent, EventError>) { self.answer.withLock { $0 = answer } }

    func verify(event token: LogoutToken, at now: UnixTime) async throws(EventError) -> SecurityEvent {
        try answer.withLock { $0 }.get()
    }

    func verify(
        revocation token: LogoutToken, body: [UInt8], at now: UnixTime
    ) async throws(EventError) -> ProviderSignal {
        guard case .signal(let signal) = try answer.withLock({ $0 }).get() else { throw .broken("no signal") }
        return signal
    }
}
