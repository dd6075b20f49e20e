package import NativeSSO
import Synchronization

/// Used assertions in memory. It forgets none.
package final class InMemoryAssertionRegister: AssertionRegister {
    private struct State {
        var used: [AssertionID: UnixTime] = [:]
        var failure: PortError?
    }

    private let state = Mutex(State())

    package init() {}

    /// What was used, and until when it has to be remembered.
    package var used: [AssertionID: UnixTime] { state.withLock { $0.used } }

    /// What every further call throws; `nil`: they work again.
    package func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    package func use(_ assertion: AssertionID, until: UnixTime) async throws(PortError) -> Bool {
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
