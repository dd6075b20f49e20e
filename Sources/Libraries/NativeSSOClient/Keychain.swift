/// Items that survive the app: a keychain access group.
///
/// The apps of one vendor share one group, for the login; each has another for itself, for its refresh token. On Apple's
/// systems an item wants `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`: readable in the background, in no backup.
public protocol Keychain: Sendable {
    /// The item, or nil if there is none.
    func item(_ name: String) async throws -> [UInt8]?
    /// Writes or replaces the item.
    func setItem(_ name: String, _ value: [UInt8]) async throws
    /// Removes the item if it is there.
    func removeItem(_ name: String) async throws
}

/// A keychain that is gone with the process: for tests, and where nothing may be kept.
public actor InMemoryKeychain: Keychain {
    private var items: [String: [UInt8]] = [:]

    public init() {}

    public func item(_ name: String) -> [UInt8]? { items[name] }
    public func setItem(_ name: String, _ value: [UInt8]) { items[name] = value }
    public func removeItem(_ name: String) { items[name] = nil }
}
