import BrokerHarness
import Synchronization

/// Apps that refresh while the key module is away, and what they have seen.
final class RefreshingApps: Sendable {
    struct Seen {
        var granted = 0
        var outages = 0
        var others: [String] = []
    }

    let seen = Mutex(Seen())
    let areDone = Atomic(false)

    /// Refreshes one family until the others are done, too. A token that got no answer is sent again.
    func refresh(_ family: TokenFamily, _ logins: LoginFactory, at broker: Broker) async throws {
        var token = family.refreshToken
        while !areDone.load(ordering: .relaxed) {
            let answer = try await broker.token(logins.refresh(token))
            seen.withLock { seen in
                if answer.status == 200 {
                    seen.granted += 1
                } else if answer.isOutage {
                    seen.outages += 1
                } else {
                    seen.others.append(answer.text)
                }
            }
            if let next = answer.refreshToken { token = next }
            if answer.status != 200 { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    func untilGranted(_ more: Int) async throws { try await until(more, \.granted, "refreshes") }

    func untilOutages(_ more: Int) async throws { try await until(more, \.outages, "outages") }

    private func until(_ more: Int, _ count: any KeyPath<Seen, Int> & Sendable, _ name: String) async throws {
        let start = seen.withLock { $0[keyPath: count] }
        _ = try await eventually("\(more) \(name)") {
            seen.withLock { $0[keyPath: count] >= start + more } ? true : nil
        }
    }
}
