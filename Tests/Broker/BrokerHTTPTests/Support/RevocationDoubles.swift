import NativeSSO
import Synchronization

/// Ends grants and sessions in memory.
final class InMemoryRevocationRegistry: RevocationRegistry {
    enum Call: Sendable, Hashable {
        case end(UniqueID, ClientID)
        case signOut(Set<DeviceDigest>, ClientID, holding: UniqueID?)
        case isLive(UniqueID, ClientID)
    }

    private struct State {
        var calls: [Call] = []
        /// The client of each grant that is not ended.
        var grants: [UniqueID: ClientID] = [:]
        var sessions: Int64 = 0
        var isLive = true
        var failure: PortError?
    }

    private let state = Mutex(State())

    /// In the order in which they came.
    var calls: [Call] { state.withLock { $0.calls } }

    /// A live grant.
    func put(_ grant: UniqueID, of client: String) {
        state.withLock { $0.grants[grant] = ClientID(validated: client) }
    }

    /// How many sessions the next sign-out ends.
    func put(sessions: Int64) { state.withLock { $0.sessions = sessions } }

    func setLive(_ isLive: Bool) { state.withLock { $0.isLive = isLive } }

    /// Makes every further call fail; `nil`: calls succeed again.
    func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    func end(_ grant: UniqueID, of client: ClientID, requestID: UniqueID) async throws(PortError) -> GrantEnd {
        try call(.end(grant, client)) { state in
            guard let holder = state.grants[grant] else { return .none }
            guard holder == client else { return .foreign }
            state.grants[grant] = nil
            return .ended
        }
    }

    func signOut(
        _ devices: [Issuer: DeviceDigest], of client: ClientID, holding grant: UniqueID?, requestID: UniqueID
    ) async throws(PortError) -> Int64 {
        try call(.signOut(Set(devices.values), client, holding: grant)) { state in
            defer { state.sessions = 0 }
            return state.sessions
        }
    }

    func isLive(
        _ session: UniqueID, of client: ClientID, issuedAt: UnixTime, idle: Seconds
    ) async throws(PortError) -> Bool {
        try call(.isLive(session, client)) { $0.isLive }
    }

    private func call<Value: Sendable>(
        _ call: Call, _ body: (inout State) -> Value
    ) throws(PortError) -> Value {
        let result = state.withLock { state -> Result<Value, PortError> in
            if let failure = state.failure { return .failure(failure) }
            state.calls.append(call)
            return .success(body(&state))
        }
        return try result.get()
    }
}
