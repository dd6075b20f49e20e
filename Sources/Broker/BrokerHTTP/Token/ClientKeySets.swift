import JOSE
import Logging
import NativeSSO
import StrictCoding
import Synchronization

/// The registered keys of clients, ready to verify: each client's are read once, and again when they have changed.
final class ClientKeySets: Sendable {
    private struct Entry {
        let registered: [ClientKey]
        /// `nil`: not one can be read.
        let keys: JSONWebKeySet?
    }

    /// By registered client, so that nobody from outside makes it grow.
    private let entries = Mutex<[ClientID: Entry]>([:])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Parameter registered: All that the client has now.
    /// - Returns: `nil` where it has none that can verify.
    func keys(of client: ClientID, _ registered: [ClientKey]) -> JSONWebKeySet? {
        entries.withLock { entries in
            guard !registered.isEmpty else {
                entries[client] = nil
                return nil
            }
            if let entry = entries[client], entry.registered == registered { return entry.keys }
            let keys = registered.compactMap { read($0, of: client) }
            // By one `kid` there is one row, so that no two can be confused.
            let entry = Entry(registered: registered, keys: try? JSONWebKeySet(keys))
            entries[client] = entry
            return entry.keys
        }
    }

    /// A key that cannot be read came by no command. It is left out: the client's others go on, and whoever signs with it is
    /// refused.
    private func read(_ key: ClientKey, of client: ClientID) -> JSONWebKey? {
        if let json = try? JSONReader.parse(key.publicJWK.utf8).object, let own = try? JSONWebKey(json),
            let named = try? JSONWebKey(own.parameters, keyID: key.id.string, algorithm: own.algorithm)
        {
            return named
        }
        logger.error(
            "a registered key of a client cannot be read",
            metadata: ["client_id": .string(client.string), "kid": .string(key.id.string)])
        return nil
    }
}
