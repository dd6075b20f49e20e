public import NativeSSO
import Synchronization

/// Used assertions in memory. It forgets none.
public final class InMemoryAssertionRegister: AssertionRegister {
    private struct State {
        var used: [AssertionID: UnixTime] = [:]
        var failure: PortError?
    }

    private let state = Mutex(State())

    public init() {}

    /// What was used, and until when it has to be remembered.
    public var used: [AssertionID: UnixTime] { state.withLock { $0.used } }

    /// What every further call throws; `nil`: they work again.
    public func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    public func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool {
        let (isFirst, failure) = state.withLock { state in
            if let failure = state.failure { return (false, failure as PortError?) }
            guard state.used[assertion] == nil else { return (false, nil) }
            state.used[assertion] = until
            return (true, nil)
        }
        if let failure { throw failure }
        return isFirst
    }
}
