extension Configuration {
    /// Where the keys of an identity provider come from.
    enum KeySource: Sendable, Hashable {
        /// The URL of its discovery document, which names the key set.
        /// - Parameter keySetHosts: Where the key set may lie besides the host of the document.
        case discovery(String, keySetHosts: [String])
        /// The URL of its key set.
        case keySetURL(String)
        /// The absolute path of a key set on this machine, for a broker that opens no connection.
        case keySetFile(String)
    }
}
