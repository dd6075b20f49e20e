import Synchronization

/// Limits the codes that are at each IdP at one time. A request without a slot is refused at once and does not wait. An
/// IdP that hangs fills its own slots only.
///
/// One app holds at most half of an IdP's slots, and one address at most a quarter. A flood blocks only callers with
/// the same client identifier or the same address.
package final class RelaySlots: Sendable {
    private enum Holder: Hashable {
        case everybody(Issuer)
        case client(Issuer, ClientID)
        case origin(Issuer, UInt64)
    }

    private let taken = Mutex<[Holder: Int]>([:])

    package init() {}

    /// - Returns: `nil`: the caller has a slot, and must return it with ``leave(_:)``.
    func enter(_ request: CodeRequest, atMost limit: Int) -> RelayRefusal? {
        let holders = Self.holders(request)
        return taken.withLock { taken in
            for holder in holders where taken[holder, default: 0] >= Self.share(of: holder, limit) {
                if case .everybody = holder { return .relayBusy }
                return .relayShareUsed
            }
            for holder in holders { taken[holder, default: 0] += 1 }
            return nil
        }
    }

    func leave(_ request: CodeRequest) {
        taken.withLock { taken in
            for holder in Self.holders(request) {
                let left = taken[holder, default: 1] - 1
                taken[holder] = left > 0 ? left : nil
            }
        }
    }

    /// Codes that are at this identity provider now, or whose tokens are being stored.
    package func count(at issuer: Issuer) -> Int { taken.withLock { $0[.everybody(issuer), default: 0] } }

    private static func holders(_ request: CodeRequest) -> [Holder] {
        let issuer = request.issuer.issuer
        return [.everybody(issuer), .client(issuer, request.client.id)]
            + (request.origin.map { [.origin(issuer, $0)] } ?? [])
    }

    /// Rounded up: every caller may use a single slot.
    private static func share(of holder: Holder, _ limit: Int) -> Int {
        switch holder {
        case .everybody: limit
        case .client: (limit + 1) / 2
        case .origin: (limit + 3) / 4
        }
    }
}

/// Background work for codes, counted so that a stopping broker can let it finish.
package final class PendingCodes: Sendable {
    private struct State {
        var count = 0
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Continues to its end, even if the caller is cancelled.
    @discardableResult
    func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        state.withLock { $0.count += 1 }
        return Task {
            defer { end() }
            return await work()
        }
    }

    var count: Int { state.withLock { $0.count } }

    /// Returns when no work is left, or the caller is cancelled.
    package func finished() async {
        let (end, waiter) = AsyncStream.makeStream(of: Void.self)
        state.withLock { state in
            if state.count > 0 { state.waiting.append(waiter) } else { waiter.finish() }
        }
        for await _ in end {}
    }

    private func end() {
        let waiting = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }
}
