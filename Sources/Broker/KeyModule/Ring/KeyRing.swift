import NativeSSO
import Synchronization

/// The keys in use now, behind the three ports that need them. Empty at first, and replaced as a whole while requests
/// run.
///
/// A key that is missing is an outage, never a refusal: apps delete their login on `invalid_grant`.
public final class KeyRing: Sendable {
    // Held for as long as it takes to copy one reference, some 20 ns against the 20 µs of the cheapest signature.
    private let keys = Mutex<KeySet?>(nil)
    private let whole = Atomic(false)

    public init() {}

    /// What is in use; `nil`: nothing was loaded yet.
    public var current: KeySet? { keys.withLock { $0 } }

    /// Whether there was a moment at which every active and published key that the registry lists was loaded.
    public var hasBeenWhole: Bool { whole.load(ordering: .relaxed) }

    /// Takes `new` into use.
    ///
    /// Where `new` lacks an active key only because its file could not be loaded (a reload met a damaged or missing
    /// file), the present keys stay, unless one of them was removed in the meantime.
    /// - Returns: Whether `new` is in use.
    public func adopt(_ new: KeySet) -> Bool {
        keys.withLock { present in
            if let present, present.missing.isEmpty, present.activeKIDs.isSubset(of: new.verifyingKIDs),
                new.problems.contains(where: { $0.state == .active })
            {
                return false
            }
            present = new
            if new.missing.isEmpty, new.problems.allSatisfy({ $0.state == .retired }) {
                whole.store(true, ordering: .relaxed)
            }
            return true
        }
    }

    func loaded() throws(PortError) -> KeySet {
        guard let keys = current else { throw .outage(Outage(.keyModule, "no keys were loaded yet")) }
        return keys
    }
}

extension PortError {
    static func noActiveKey(for use: KeyUse) -> PortError {
        .outage(Outage(.keyModule, "there is no usable active key for use \(use.rawValue)"))
    }

    init(_ error: KeyError) {
        self = .outage(Outage(.keyModule, error.description))
    }
}
