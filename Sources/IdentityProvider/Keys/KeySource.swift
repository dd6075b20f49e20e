/// Where the keys of an identity provider come from.
public enum KeySource: Sendable, Hashable {
    /// The discovery document, which names the key set. `keySetHosts` adds to the host of the document.
    case discovery(ProviderURL, keySetHosts: Set<String> = [])
    /// The key set itself.
    case keySet(ProviderURL)
    /// A file on this machine, for a broker that may open no connection.
    case file(path: String)
}
