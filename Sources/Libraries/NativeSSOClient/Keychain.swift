import Crypto
import StrictCoding

/// A keychain access group. Its items outlive the app.
///
/// The apps of one vendor share a group for the login. Each app has its own group for its refresh token. Several
/// processes use a group at once: every write names what it replaces.
///
/// `AppleKeychain` is for Apple's systems, ``EncryptedFileKeychain`` for Linux, and ``InMemoryKeychain`` for tests.
public protocol Keychain: Sendable {
    /// The item, or nil if it does not exist. Throws if the keychain cannot be read.
    func item(_ name: String) async throws -> [UInt8]?

    /// What the item holds, without its secrets; nil if it does not exist. Must not ask the user for anything.
    func revision(of name: String) async throws -> ItemRevision?

    /// Writes the item, or removes it (`value` nil), if it has the revision `current`. nil: if it does not exist.
    ///
    /// No other process may write between the comparison and the change.
    /// - Returns: Whether the item had that revision. If not, nothing changed.
    /// - Throws: If the keychain cannot be written.
    func replaceItem(_ name: String, _ current: ItemRevision?, with value: [UInt8]?) async throws -> Bool
}

/// Tells one content of a keychain item from another.
public struct ItemRevision: Sendable, Hashable {
    /// 32 octets.
    public let octets: [UInt8]

    /// The revision of an item with this content: its SHA-256.
    public init(of value: [UInt8]) { octets = Array(SHA256.hash(data: value)) }

    /// A revision as stored; nil unless it has 32 octets.
    public init?(octets: [UInt8]) {
        guard octets.count == SHA256.byteCount else { return nil }
        self.octets = octets
    }
}

extension Keychain {
    /// By reading the item.
    public func revision(of name: String) async throws -> ItemRevision? { try await item(name).map(ItemRevision.init) }

    /// Writes the item, whatever it held. Throws if the keychain cannot be written.
    public func setItem(_ name: String, _ value: [UInt8]) async throws { try await write(name, value) }

    /// Removes the item; does nothing if it does not exist. Throws if the keychain cannot be written.
    public func removeItem(_ name: String) async throws { try await write(name, nil) }

    private func write(_ name: String, _ value: [UInt8]?) async throws {
        while try await !replaceItem(name, try await revision(of: name), with: value) {}
    }
}

/// A keychain in memory, lost when the process ends: for tests, or if nothing may be stored.
public actor InMemoryKeychain: Keychain {
    private var items: [String: [UInt8]] = [:]

    /// An empty keychain.
    public init() {}

    /// The item, or nil.
    public func item(_ name: String) -> [UInt8]? { items[name] }

    /// Writes or removes the item if it has that revision.
    public func replaceItem(_ name: String, _ current: ItemRevision?, with value: [UInt8]?) -> Bool {
        guard items[name].map(ItemRevision.init) == current else { return false }
        items[name] = value
        return true
    }
}

/// Why a keychain item cannot be used.
public enum KeychainItemDefect: Error, Sendable, Equatable {
    /// Not what this library writes: half of an item, another program's, or damaged. The next login replaces it.
    case corrupt
    /// A newer version of this library wrote it, in another app of the vendor. It stays as it is: update this app.
    case newerVersion
}

/// The JSON of a keychain item. `version` tells a later library from this one.
enum KeychainItem {
    private static let version: Int64 = 1

    static func write(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("version", version)
            members(&json)
        }
        return json.bytes
    }

    static func read(_ bytes: [UInt8]) throws(KeychainItemDefect) -> JSONObject {
        guard let json = (try? JSONReader.parse(bytes))?.object, let written = json.number("version")?.int64,
            written > 0
        else { throw .corrupt }
        guard written <= version else { throw .newerVersion }
        return json
    }
}
