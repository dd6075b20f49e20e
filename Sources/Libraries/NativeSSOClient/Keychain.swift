/// A keychain access group. Its items outlive the app.
///
/// The apps of one vendor share a group for the login. Each app has its own group for its refresh token. On Apple's
/// systems, use `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`: readable in the background, excluded from backups.
public protocol Keychain: Sendable {
    /// The item, or nil if it does not exist. Throws if the keychain cannot be read.
    func item(_ name: String) async throws -> [UInt8]?
    /// Writes or replaces the item. Throws if the keychain cannot be written.
    func setItem(_ name: String, _ value: [UInt8]) async throws
    /// Removes the item; does nothing if it does not exist. Throws if the keychain cannot be written.
    func removeItem(_ name: String) async throws
}

/// A keychain in memory, lost when the process ends: for tests, or if nothing may be stored.
public actor InMemoryKeychain: Keychain {
    private var items: [String: [UInt8]] = [:]

    /// An empty keychain.
    public init() {}

    /// The item, or nil.
    public func item(_ name: String) -> [UInt8]? { items[name] }
    /// Writes or replaces the item.
    public func setItem(_ name: String, _ value: [UInt8]) { items[name] = value }
    /// Removes the item.
    public func removeItem(_ name: String) { items[name] = nil }
}
