import Foundation
import JOSE
import Synchronization

/// The key that the provider signs with, and the public keys that others may still meet in its tokens.
package final class SigningKeys: Sendable {
    private struct State {
        var current: SigningKey
        /// Newest first, with the current one.
        var published: [JSONWebKey]
    }

    private let state: Mutex<State>
    /// nil: in memory only.
    private let path: String?

    package init(_ key: SigningKey) {
        state = Mutex(State(current: key, published: [key.publicKey]))
        path = nil
    }

    /// Reads the key from the file, or makes one: ``SigningKey/init(file:algorithm:)``.
    package init(file path: String, algorithm: SigningAlgorithm) throws {
        let key = try SigningKey(file: path, algorithm: algorithm)
        state = Mutex(State(current: key, published: [key.publicKey]))
        self.path = path
    }

    package var current: SigningKey { state.withLock { $0.current } }

    var published: [JSONWebKey] { state.withLock { $0.published } }

    /// Signs with a new key from now on. The older ones stay published until the process ends, so that their tokens verify.
    package func rotate() throws {
        let key = try SigningKey(generating: current.algorithm)
        if let path { try key.write(replacing: path) }
        state.withLock { state in
            state.current = key
            state.published.insert(key.publicKey, at: 0)
        }
    }
}
