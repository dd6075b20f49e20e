public import NativeSSO

/// The public keys that verify what this broker signs.
public protocol PublishedKeys: Sendable {
    /// A JWK Set as JSON. RFC 7517 §5.
    func keySet() async throws(PortError) -> [UInt8]

    /// How long others may keep it. A new key is published for longer than this before it signs.
    var maximumAge: Seconds { get }
}
