import NativeSSO
import Synchronization

/// Ends in memory, for one receiver.
final class InMemoryEndedSessionRegistry: EndedSessionRegistry {
    private struct State {
        var ends: [EndedSession] = []
        var position: Int64 = 0
        var polls: [(client: ClientID, receiver: String, acknowledged: [UniqueID])] = []
        var failure: PortError?
    }

    private let state = Mutex(State())
    /// One element for each poll.
    let polled = AsyncStream<Void>.makeStream()

    var polls: [(client: ClientID, receiver: String, acknowledged: [UniqueID])] { state.withLock { $0.polls } }

    func end(_ session: UniqueID, reason: String = "logout") {
        state.withLock { state in
            state.ends.append(EndedSession(id: session, endedAt: UnixTime(seconds: 1_795_000_000), reason: reason))
            state.position += 1
        }
    }

    /// Makes every further call fail; `nil`: calls succeed again.
    func fail(with failure: PortError?) { state.withLock { $0.failure = failure } }

    func next(
        for client: ClientID, receiver: String, acknowledged: [UniqueID], limit: Int64, life: Seconds
    ) async throws(PortError) -> [EndedSession] {
        let result = state.withLock { state -> Result<[EndedSession], PortError> in
            if let failure = state.failure { return .failure(failure) }
            state.polls.append((client, receiver, acknowledged))
            state.ends.removeAll { acknowledged.contains($0.id) }
            return .success(Array(state.ends.prefix(Int(limit))))
        }
        polled.continuation.yield()
        return try result.get()
    }

    func lastPosition() async throws(PortError) -> Int64 {
        try state.withLock { state -> Result<Int64, PortError> in
            state.failure.map { .failure($0) } ?? .success(state.position)
        }.get()
    }
}
