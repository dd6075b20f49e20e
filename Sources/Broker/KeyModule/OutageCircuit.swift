import Synchronization

/// Why a key behind the signer makes no signature now.
///
/// After a failure the key refuses all signatures at once, so that nothing is written for a token that cannot be
/// signed. The circuit looks every 0.5 s whether the key works again. Each key has a circuit of its own: what stops one
/// key stops no other.
final class OutageCircuit: Sendable {
    private let outage = Mutex<KeyError?>(nil)

    private static let pause = Duration.milliseconds(500)

    /// `nil`: the key works, as far as the last call says.
    var failure: KeyError? { outage.withLock { $0 } }

    /// - Parameters:
    ///   - owner: The circuit looks no more once it is released.
    ///   - look: Throws while the key does not work.
    func open<Owner: AnyObject & Sendable>(
        _ error: KeyError, of owner: Owner, look: @escaping @Sendable (Owner) async throws(KeyError) -> Void
    ) {
        let isFirst = outage.withLock { outage in
            defer { outage = error }
            return outage == nil
        }
        guard isFirst else { return }
        Task { [self, weak owner] in
            while true {
                try? await Task.sleep(for: Self.pause)
                guard let owner else { return }
                do throws(KeyError) {
                    try await look(owner)
                    return outage.withLock { $0 = nil }
                } catch {
                    outage.withLock { $0 = error }
                }
            }
        }
    }
}
